"""What a model costs beside its time: compiling it, memory, and a call.

Each figure comes from a process of its own: `python -m benchmarks.models.costs WHAT NAME` prints it
in JSON.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.compiler.measure import Figure, scaled, seconds
from benchmarks.harness.pairs import environment
from benchmarks.models.peers import onnx_model, onnx_session
from benchmarks.models.works import MODELS, Model, perceptron
from tilewright.driver.object_cache import DIRECTORY_VARIABLE

COLD_AIM: Final = 10.0
WARM_AIM: Final = 1.0
"""Seconds that compiling should take at most, with an empty cache and with a full one."""
OVERHEAD_AIM: Final = 2.0
"""Microseconds of a call, less the kernels."""


def measure(model: Model, repeat: int) -> list[Figure]:
    """Seconds of compiling with an empty cache and with a full one, and the memory of a run."""
    cold, warm = [], []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as cache:
            for figures in (cold, warm):
                figures.append(run("compile", model, cache=cache)["seconds"])
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        path = os.path.join(folder, "model")
        library = run("export", model, path)["mebibytes"]
        memory = {
            "": (run("run", model, path), f"a library of {library:.0f} MiB, without torch"),
            " of torch": (run("torch", model), ""),
        }
        if find_spec("onnxruntime"):
            run("export to onnx", model, path)
            memory[" of onnxruntime"] = run("onnxruntime", model, path), "without torch"
    return [
        Figure(f"{model.name}: compiling", cold, "s", COLD_AIM),
        Figure(f"{model.name}: compiling again", warm, "s", WARM_AIM, "with the cache"),
        *(
            Figure(f"{model.name}: memory{of}", [figures["mebibytes"]], "MiB", note=note)
            for of, (figures, note) in memory.items()
        ),
    ]


def run(what: str, model: Model, path: str = "", cache: str = "") -> dict[str, float]:
    """What a process of its own measures."""
    variables = environment(1) | ({DIRECTORY_VARIABLE: cache} if cache else {})
    command = [sys.executable, "-m", "benchmarks.models.costs", what, model.name, path]
    text = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(text.stdout.splitlines()[-1])


def call_overhead(repeat: int) -> Figure:
    """Microseconds of a call of a model whose kernels have next to nothing to do."""
    import tilewright as tvm
    from tilewright import nd, relax
    from tilewright.relax.frontend.torch import from_exported_program

    module, inputs = perceptron(1, 1, 1)
    import torch

    program = torch.export.export(module, inputs)
    built = relax.build(from_exported_program(program, unwrap_unit_return_tuple=True), "llvm")
    main = relax.VirtualMachine(built, tvm.cpu())["main"]
    arrays = [nd.from_dlpack(tensor) for tensor in inputs]
    with torch.inference_mode():
        theirs = scaled(seconds(lambda: module(*inputs), repeat, 2000), 1e6)
    return Figure(
        "a call of an MLP 1-1-1", scaled(seconds(lambda: main(*arrays), repeat, 20000), 1e6), "us",
        OVERHEAD_AIM, f"torch: {statistics.median(theirs):.3g} us",
    )  # fmt: skip


# --- in the process -------------------------------------------------------------------------


def compiling(model: Model, path: str) -> dict[str, float]:
    """Seconds from the exported program to a model that can be called."""
    import tilewright as tvm
    from tilewright import relax
    from tilewright.relax.frontend.torch import from_exported_program

    module, inputs = model.make()
    program = model.export(module, inputs)
    begin = time.perf_counter()
    imported = from_exported_program(program)
    relax.VirtualMachine(relax.build(imported, target="llvm"), tvm.cpu())["main"]
    return {"seconds": time.perf_counter() - begin}


def exporting(model: Model, path: str) -> dict[str, float]:
    """Write the model's library and its inputs to files, and tell their size."""
    import numpy as np

    from tilewright import relax
    from tilewright.relax.frontend.torch import from_exported_program

    module, inputs = model.make()
    imported = from_exported_program(model.export(module, inputs))
    relax.build(imported, target="llvm").export_library(f"{path}.so")
    np.savez(f"{path}.npz", *(tensor.numpy() for tensor in inputs))
    return {"mebibytes": os.path.getsize(f"{path}.so") / 2**20}


def running(model: Model, path: str) -> dict[str, float]:
    """The largest memory of this process, which runs a library, without torch."""
    import numpy as np

    import tilewright as tvm
    from tilewright import relax

    inputs = list(np.load(f"{path}.npz").values())
    machine = relax.VirtualMachine(tvm.runtime.load_module(f"{path}.so"), tvm.cpu())
    for _ in range(3):
        machine["main"](*inputs)
    return {"mebibytes": largest_memory()}


def running_torch(model: Model, path: str) -> dict[str, float]:
    """The largest memory of this process, in which torch runs the model."""
    import torch

    module, inputs = model.make()
    with torch.inference_mode():
        for _ in range(3):
            module(*inputs)
    return {"mebibytes": largest_memory()}


def exporting_to_onnx(model: Model, path: str) -> dict[str, float]:
    """Write the model to a file that onnxruntime reads, and tell its size."""
    module, inputs = model.make()
    content = onnx_model(module, inputs)
    Path(f"{path}.onnx").write_bytes(content)
    return {"mebibytes": len(content) / 2**20}


def running_onnxruntime(model: Model, path: str) -> dict[str, float]:
    """The largest memory of this process, in which onnxruntime runs the model, without torch."""
    import numpy as np

    session = onnx_session(f"{path}.onnx")
    arrays = np.load(f"{path}.npz").values()
    inputs = dict(zip((put.name for put in session.get_inputs()), arrays, strict=True))
    for _ in range(3):
        session.run(None, inputs)
    return {"mebibytes": largest_memory()}


def largest_memory() -> float:
    """Of this process, in MiB."""
    # Linux counts what the parent had before this program began in ``ru_maxrss``.
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        (line,) = (line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


WORKERS: Final[dict[str, Callable[[Model, str], dict[str, float]]]] = {
    "compile": compiling,
    "export": exporting,
    "run": running,
    "torch": running_torch,
    "export to onnx": exporting_to_onnx,
    "onnxruntime": running_onnxruntime,
}


def main() -> None:
    what, name, path = sys.argv[1:]
    (model,) = (model for model in MODELS if model.name == name)
    print(json.dumps(WORKERS[what](model, path)))


if __name__ == "__main__":
    main()
