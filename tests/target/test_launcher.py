"""The launcher of devices: what is made of its C sources."""

import importlib.metadata

import pytest
from tools import launcher

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
