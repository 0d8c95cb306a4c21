"""Object files that LLVM's linker loads."""

import numpy as np
import pytest
from tests.runtime.programs import add_one

import tilewright as tvm
from tilewright.error import CodegenError, ExportError
from tilewright.runtime.loading import load_object, save_object
from tilewright.script import tir as T


@T.prim_func
def doubled_in_parallel(A: T.Buffer((64, 512), "float32"), B: T.Buffer((64, 512), "float32")):
    with T.block("root"):
        C = T.alloc_buffer((64, 512), "float32")
        for i in T.parallel(64):
            for j in range(512):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj] * 2.0
        for i in T.parallel(64):
            for j in range(512):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = C[vi, vj] + 1.0


@T.prim_func
def calls_nobody(A: T.Buffer((1,), "float32")):
    A[0] = T.call_extern("float32", "no_such_function", A[0])


def test_functions_share_threads_and_workspaces_of_the_process(tmp_path):
    built = tvm.build(doubled_in_parallel, target="llvm")
    save_object(built, tmp_path / "double.o")
    source = np.random.rand(64, 512).astype("float32")
    target = np.zeros_like(source)
    loaded = load_object(tmp_path / "double.o")
    loaded(source, target)
    np.testing.assert_array_equal(target, source * 2 + 1)
    assert loaded["doubled_in_parallel"].parameters == built["doubled_in_parallel"].parameters


def test_the_same_file_is_loaded_twice(tmp_path):
    save_object(add_one(), tmp_path / "add.o")
    first, second = load_object(tmp_path / "add.o"), load_object(tmp_path / "add.o")
    values, sums = np.arange(4, dtype="float32"), np.zeros((2, 4), "float32")
    first(values, sums[0])
    del first
    second(values, sums[1])
    np.testing.assert_array_equal(sums, [values + 1] * 2)
    assert not second.implements_function("other")


def test_what_cannot_be_saved_or_loaded_is_refused(tmp_path):
    with pytest.raises(ExportError, match="was not compiled by the target llvm"):
        save_object(tvm.build(calls_nobody, target="c"), tmp_path / "c.o")
    with pytest.raises(ExportError, match="No such file"):
        load_object(tmp_path / "nothing.o")
    (tmp_path / "text.o").write_text("this is not an object file")
    with pytest.raises(CodegenError, match="cannot be loaded"):
        load_object(tmp_path / "text.o")
    save_object(tvm.build(calls_nobody, target="llvm"), tmp_path / "extern.o")
    with pytest.raises(CodegenError, match="may call C functions"):
        load_object(tmp_path / "extern.o")
