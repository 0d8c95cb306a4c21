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


def test_a_name_that_is_close_or_was_in_tvm_has_a_pointer():
    with pytest.raises(AttributeError, match="did you mean 'build'"):
        tvm.bild
    with pytest.raises(AttributeError, match=r"there is tilewright\.tir"):
        tvm.s_tir
    with pytest.raises(ImportError, match=r"graphs of tilewright\.relax"):
        from tilewright import relay  # noqa: F401


def test_programs_that_import_tvm():
    program = (
        "import tilewright.as_tvm, tilewright, tvm, tvm.relax.transform\n"
        "from tvm.script import tir as T\n"
        "assert tvm is tilewright and tvm.te is tilewright.te\n"
        "assert tvm.relax.transform is tilewright.relax.transform\n"
        "assert tvm.relax.transform.__spec__.name == 'tilewright.relax.transform'\n"
        "try:\n    import tvm.no_such_module\nexcept ImportError as error:\n    print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert result.stdout == "No module named 'tvm.no_such_module'\n"


def test_another_tvm_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "tvm", sys)
    monkeypatch.delitem(sys.modules, "tilewright.as_tvm", raising=False)
    with pytest.raises(ImportError, match="another package has been imported as tvm"):
        import tilewright.as_tvm  # noqa: F401


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
