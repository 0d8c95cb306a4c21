"""The names of the package, and what importing it costs."""

import subprocess
import sys

import pytest

import tilewright as tvm


@pytest.mark.parametrize("name", tvm.__all__)
def test_every_public_name_exists(name):
    assert getattr(tvm, name) is not None
    assert name in dir(tvm)


def test_passes_are_found_under_both_names():
    names = (
        "Pass",
        "ModulePass",
        "PassContext",
        "PassInfo",
        "PrintIR",
        "Sequential",
        "module_pass",
    )
    for name in names:
        assert getattr(tvm.transform, name) is getattr(tvm.ir.transform, name)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        tvm.no_such_name


def test_importing_the_package_imports_nothing_heavy():
    program = (
        "import sys, tilewright; from tilewright import te, tir; "
        "print(*(set(sys.modules) & {'llvmlite', 'islpy', 'rich', 'pygments', 'torch', 'tvm_ffi'}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert result.stdout.split() == []


def test_operators_need_no_other_package_than_ir():
    program = "from tilewright.ir import Add, Var; assert isinstance(Var('x', 'int32') + 1, Add)"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
