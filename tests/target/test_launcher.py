"""The launcher of devices: what is made of its C sources."""

import importlib.metadata
import shutil
import subprocess
from pathlib import Path

import pytest
from tools import launcher

from tilewright.runtime.linking import find_compiler, include_directory
from tilewright.target.codegen.llvm.compile import machine_for, optimised, parse
from tilewright.target.codegen.llvm.support import launcher_text
from tilewright.target.target import Target

VERSION = "0.17"


def test_the_llvm_ir_is_that_of_the_sources():
    pytest.importorskip("ziglang")
    if not importlib.metadata.version("ziglang").startswith(VERSION):
        pytest.skip(f"another version than {VERSION} writes other LLVM IR")
    assert launcher_text() == launcher.launcher_ir(), "run `make launcher`"


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "riscv64-linux-gnu"])
def test_it_is_for_all_64_bit_machines(triple):
    machine = machine_for(Target(f"llvm -mtriple={triple}"), optimises=False)
    code = machine.emit_object(optimised(parse(launcher_text(), machine), machine))
    assert b"tilewright_device_allocate" in code


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_no_order_of_calls_breaks_its_memory(tmp_path):
    """Under AddressSanitizer and UndefinedBehaviorSanitizer, with a fake driver."""
    tests = Path(__file__).parents[1]
    options = ["-g", "-O1", "-fsanitize=address,undefined", f"-I{include_directory()}"]
    parts = [
        ["cc", "-c", str(launcher.SOURCE), "-o", "launcher.o"],
        ["c++", "-std=c++17", f"-I{tests / 'runtime'}", str(tests / "target/launcher_stress.cpp"),
         "launcher.o", "-rdynamic", "-ldl", "-lpthread", "-o", "stress"],
    ]  # fmt: skip
    for command in parts:
        if shutil.which(command[0]) is None:
            pytest.skip(f"there is no {command[0]}")
        built = subprocess.run(
            [command[0], *options, *command[1:]], cwd=tmp_path, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if "asan" in built.stderr:
            pytest.skip("the compiler has no sanitizers")
        assert built.returncode == 0, built.stderr
    result = subprocess.run(
        [tmp_path / "stress"], capture_output=True, text=True, check=False, timeout=100
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
