"""Every example runs, as a program or as a notebook, and prints what it is there to show."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tools import notebooks

from tilewright.runtime.linking import find_compiler

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
SHOWN = {
    "auto_scheduler_conv2d.py": [
        "+= (pad_temp[",
        "4 candidates in the log",
        "us, correct; default schedule:",
        "sch = tir.Schedule(function)",
        "6 candidates after going on",
    ],
    "custom_sketch_rule.py": [
        "C.local = ...",
        "candidates of the rule",
        "best one is correct",
    ],
    "tune_for_a_gpu.py": [
        "opencl: the best of 2 takes",
        "It computes what numpy does",
        "__local float",
        "nvidia/nvidia-h100: the best of 2 takes",
        ".target sm_90a",
    ],
    "te_matmul.py": ["T.vectorized(32)", "in tiles:", "GFLOP/s, correct"],
    "tvmscript_softmax.py": ["@T.prim_func", "rows sum to", "shape[1] is 999, expected 1000"],
    "call_python_from_compiled_code.py": ["step 4: energy", "nobody wants to hear about step 0"],
    "chain_schedules.py": [
        "for i_0_m in range(4):",
        "sch.merge(",
        "B_global[v0 // 32, v1, v0 % 32]",
    ],
    "chain_scripts.py": ["panel = T.alloc_buffer((2, 2048, 64))"],
    "autotvm_first_steps.py": ["tile_y: Split(", "best of 4: [('tile_y'", "what numpy does"],
    "autotvm_matmul.py": ["rows: Split(policy=factors", "best config: [('rows'", "FLOP/s, correct"],
    "tune_on_a_fleet.py": [
        "tall: 5 candidates measured on",
        "wide: 3 candidates measured on",
        "all of them are correct",
    ],
    "tune_matmul.py": ["4 of 4 candidates ran", "sch.split(", "GFLOP/s, correct"],
    "model_in_c.py": ["The C program says:\nimage 0: class", "Python is not in it."],
    "resnet18.py": ["ResNet-18, on one core", "batch 3 │", "e-0"],
    "bert.py": ["BERT-base, 1 layers, on one core", "batch 1, 77 words │", "e-0"],
    "three_tuners.py": ["3 trials each", "all are correct", "MetaSchedule", "AutoTVM"],
    "te_tutorials.py": ["vector_add: correct", "external_functions: correct"],
    "tensorir_tutorials.py": ['func_name="main"', "modules: correct"],
    "nn_transformer.py": ["decode: 6 inputs and caches", "goes on with"],
    "relax_creation.py": ["layers: equal to numpy", "builder: equal to numpy"],
    "relax_end_to_end.py": ["nn.conv2d", "difference to torch:", "ms"],
    "relax_ir_module.py": ["loaded: equal to torch", "layers with a library: equal to torch"],
    "relax_quick_start.py": ["R.permute_dims(fc1_weight)", "jit gives the same: True"],
    "relax_transformation.py": [
        "legalised: ['exp', 'matmul', 'relu']",
        "fused: ['fused_matmul_relu']",
        "zero: ['fused_matmul_relu']",
        "relu: 0.0000",
        "gelu: -0.1671",
    ],
    "watch_passes.py": ["tir.VectorizeLoop ", "    zero ", "target.build.llvm ", "opt_level=0"],
    "export_to_c.py": ["z[i] = x[i] * 2.5f + y[i];", "[1.  3.5 6.  8.5]"],
}
"""Text that the output contains."""
OPTIONS = {
    "auto_scheduler_conv2d.py": ["--trials", "4"],
    "autotvm_first_steps.py": ["--trials", "4"],
    "autotvm_matmul.py": ["--trials", "4"],
    "tune_matmul.py": ["--trials", "4"],
    "resnet18.py": ["--size", "64"],
    "bert.py": ["--layers", "1"],
    "three_tuners.py": ["--size", "32", "--trials", "3"],
}
"""What makes an example shorter."""
NEED_COMPILER = {"autotvm_first_steps.py", "export_to_c.py", "model_in_c.py", "relax_ir_module.py"}
NEED_TORCH = {"bert.py", "relax_end_to_end.py", "relax_ir_module.py", "resnet18.py"}
HELPERS = {"beside_torch.py"}
"""What examples share."""
LADDER = {"matmul_ladder.py"}
"""It takes minutes; `make demo` runs it."""


CELLS = """
import json, sys

path, *changes = sys.argv[1:]
names = {"__name__": "__main__"}
for cell in json.load(open(path))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    if "options" in names:
        vars(names["options"]).update(
            (name[2:], int(value)) for name, value in zip(changes[::2], changes[1::2])
        )
"""
"""Runs the cells of a notebook as Jupyter does, with other options than it says."""


def run(name, *options):
    """The output of an example, run in a process of its own, as users run it: unguarded."""
    if Path(name).stem in notebooks.NAMES:
        notebook = notebooks.DIRECTORY / f"{Path(name).stem}.ipynb"
        return output_of("-c", CELLS, str(notebook), *options)
    return output_of(str(ROOT / "examples" / name), *options)


def output_of(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120"}
    del environment["TILEWRIGHT_IR_GUARD"]
    command = [sys.executable, "-W", "error", *arguments]
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_example(name):
    if name in NEED_COMPILER and find_compiler() is None:
        pytest.skip("there is no C compiler to link with")
    if name in NEED_TORCH and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    output = run(name, *OPTIONS.get(name, []))
    for text in SHOWN[name]:
        assert text in output


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_programs_of_notebooks_are_programs(name):
    assert f"usage: {name}.py" in output_of(str(ROOT / "examples" / f"{name}.py"), "--help")


def test_every_example_is_tested():
    assert set(EXAMPLES) - LADDER - HELPERS == set(SHOWN)
