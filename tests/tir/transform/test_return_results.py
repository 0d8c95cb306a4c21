"""Functions that return new arrays, in every backend."""

import ctypes
import gc
import subprocess

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import AllocationError, ArgumentError, ArgumentValueError, LoweringError
from tilewright.runtime.ndarray import NDArray
from tilewright.runtime.packed_func import from_address
from tilewright.script import tir as T
from tilewright.tir.call_boundary.make_packed_api import make_packed_api
from tilewright.tir.call_boundary.metadata import signatures_of
from tilewright.tir.call_boundary.return_results import RETURNS

TARGETS = pytest.mark.parametrize("target", ["llvm", "c"])


@T.prim_func
def shifted_and_repeated(x: T.handle, y: T.handle, z: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, 2), "float32")
    Y = T.match_buffer(y, (n, 2), "float32")
    Z = T.match_buffer(z, (n * 2 + 1,), "int8")
    for i, j in T.grid(n, 2):
        Y[i, j] = X[i, j] + T.float32(1)
    for i in range(n * 2 + 1):
        Z[i] = T.int8(3)


@T.prim_func
def shifted(X: T.Buffer((2,), "float32"), Y: T.Buffer((2,), "float32")):
    for i in range(2):
        Y[i] = X[i] + T.float32(1)


def returning(structure, function=shifted_and_repeated):
    return function.with_attrs({RETURNS: structure, "global_symbol": "main"})


@TARGETS
@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_tuple_of_new_arrays_is_returned(target, n):
    module = tvm.build(returning("[0, [1]]"), target=target)
    x = np.arange(2.0 * n, dtype="float32").reshape(n, 2)
    y, (z,) = module(x)
    assert isinstance(y, NDArray)
    np.testing.assert_array_equal(y.numpy(), x + 1)
    np.testing.assert_array_equal(z.numpy(), np.full(2 * n + 1, 3, "int8"))


def test_few_arrays_are_checked_one_by_one():
    source = tvm.build(returning("[0, 1]"), target="c").get_source()
    assert source.count("if (tw_new_array(") == 2
    assert "status" not in source


@TARGETS
def test_one_array_and_an_array_without_dimensions(target):
    @T.prim_func
    def total(x: T.Buffer((3,), "float32"), y: T.Buffer((), "float32")):
        y[()] = x[0] + x[1] + x[2]

    result = tvm.build(returning("0", total), target=target)(np.ones(3, "float32"))
    assert result.shape == ()
    assert float(result.numpy()) == 3


@TARGETS
def test_results_are_aligned_and_outlive_the_code(target):
    module = tvm.build(returning("[0, 1]"), target=target)
    y, z = module(np.ones((3, 2), "float32"))
    del module
    gc.collect()
    assert y.data_ptr() % 64 == 0
    assert z.data_ptr() % 64 == 0
    np.testing.assert_array_equal(np.from_dlpack(y), np.full((3, 2), 2, "float32"))


@TARGETS
def test_beside_it_is_a_function_that_writes_into_arrays_of_the_caller(target):
    module = tvm.build(returning("[0, 1]"), target=target)
    address = module.code.function_address("__tvm_ffi_main_into")
    into = from_address(address, module.code, "main_into")
    y, z = np.zeros((2, 2), "float32"), np.zeros(5, "int8")
    assert into(np.ones((2, 2), "float32"), y, z) is None
    assert y.min() == 2
    assert z.min() == 3
    with pytest.raises(ArgumentValueError, match=r"main_into: argument 3 \(Z\): shape\[0\] is 5"):
        into(np.ones((3, 2), "float32"), np.zeros((3, 2), "float32"), z)


@TARGETS
def test_beside_a_tuple_of_one_is_a_function_that_returns_the_item(target):
    @T.prim_func
    def doubled(x: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32")):
        for i in range(3):
            assert x[i] < T.float32(8), "too large"
            y[i] = x[i] * T.float32(2)

    module = tvm.build(returning("[0]", doubled), target=target)
    x = np.arange(3, dtype="float32")
    functions = {
        name: from_address(module.code.function_address(f"__tvm_ffi_{name}"), module.code, name)
        for name in ("main", "main_item")
    }
    (y,) = functions["main"](x)
    z, (w,) = functions["main_item"](x), module["main"](x)
    assert type(y) is type(z) is type(w) is NDArray
    for result in (y, z, w):
        np.testing.assert_array_equal(result.numpy(), x * 2)
    for function in (*functions.values(), module["main"]):
        with pytest.raises(ArgumentError, match=r"main: expected 1 argument \(x\), got 0"):
            function()
        with pytest.raises(tvm.TVMError, match="too large"):
            function(x + 8)


@TARGETS
def test_errors_before_and_after_the_arrays_are_made(target):
    @T.prim_func
    def fails(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n - 2,), "float32")
        assert n < 5, "too long"
        for i in range(n - 2):
            Y[i] = X[i]

    main = tvm.build(returning("0", fails), target=target)
    assert main(np.ones(4, "float32")).shape == (2,)
    with pytest.raises(tvm.TVMError, match="too long"):
        main(np.ones(7, "float32"))
    with pytest.raises(ArgumentValueError, match="an extent of a result would be negative"):
        main(np.ones(1, "float32"))
    with pytest.raises(ArgumentError, match=r"expected 1 argument \(X\), got 2"):
        main(np.ones(4, "float32"), np.ones(2, "float32"))


@TARGETS
def test_a_result_that_is_too_large_is_an_error(target):
    @T.prim_func
    def huge(n: T.int64, y: T.handle):
        Y = T.match_buffer(y, (n, n, n), "float32")
        for i in range(0):
            Y[i, 0, 0] = T.float32(0)

    main = tvm.build(returning("0", huge), target=target)
    with pytest.raises(AllocationError, match="not enough memory for a result"):
        main(10**15)
    assert main(2).shape == (2, 2, 2)


def test_memory_of_results_is_given_back():
    @T.prim_func
    def zeros(n: T.int64, y: T.handle):
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            Y[i] = T.float32(0)

    main = tvm.build(returning("[0]", zeros), target="llvm")
    pages = []
    for _ in range(3):
        for _ in range(20):
            main(2**20)
        with open("/proc/self/statm") as file:
            pages.append(int(file.read().split()[1]))
    assert pages[2] - pages[0] < 20 * 2**20 * 4 / 4096 / 2


def test_the_signatures_name_all_functions():
    module = tvm.lower(returning("[0, 1]"))
    assert {k: [p.name for p in v] for k, v in signatures_of(module).items()} == {
        "main": ["X"], "main_into": ["X", "Y", "Z"],
    }  # fmt: skip
    single = signatures_of(tvm.lower(returning("[0]", shifted)))
    assert {k: [p.name for p in v] for k, v in single.items()} == {
        "main": ["X"], "main_item": ["X"], "main_into": ["X", "Y"],
    }  # fmt: skip


def test_a_name_that_is_taken_is_an_error():
    both = tvm.IRModule({
        "a": returning("[0, 1]").with_attr("global_symbol", "f"),
        "b": shifted_and_repeated.with_attr("global_symbol", "f_into"),
    })  # fmt: skip
    with pytest.raises(LoweringError, match="two functions have the global_symbol 'f_into'"):
        make_packed_api(tvm.lower(both))
    one = tvm.IRModule({
        "a": returning("[0]", shifted).with_attr("global_symbol", "f"),
        "b": shifted_and_repeated.with_attr("global_symbol", "f_item"),
    })  # fmt: skip
    with pytest.raises(LoweringError, match="two functions have the global_symbol 'f_item'"):
        make_packed_api(tvm.lower(one))


@TARGETS
def test_without_a_host_the_other_function_works(target, tmp_path):
    library = tmp_path / "library.so"
    tvm.build(returning("[0, 1]"), target=target).export_library(library)
    loaded = tvm.runtime.load_module(library)
    assert loaded["main"](np.ones((1, 2), "float32"))[1].shape == (3,)
    program = tmp_path / "main.c"
    program.write_text(PROGRAM)
    include = tvm.runtime.linking.include_directory()
    command = ["cc", "-I", include, program, library, f"-Wl,-rpath,{tmp_path}", "-lm", "-o"]
    subprocess.run([*command, tmp_path / "main"], check=True)
    ran = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert ran.stdout == "0 2 3\n-1\n"
    assert "main" not in ran.stderr or "_into" in ran.stderr
    assert "new arrays need a tvm-ffi host" in ran.stderr


PROGRAM = """
#include <stdio.h>
#include "tilewright.h"
int __tvm_ffi_main(void*, const TilewrightValue*, int32_t, TilewrightValue*);
int __tvm_ffi_main_into(void*, const TilewrightValue*, int32_t, TilewrightValue*);
int main(void) {
  float x[2] = {1, 1}, y[2];
  int8_t z[3];
  int64_t pair[2] = {1, 2}, triple[1] = {3};
  TilewrightArray X = {x, 1, 0, 2, TILEWRIGHT_FLOAT, 32, 1, pair, 0, 0}, Y = X;
  TilewrightArray Z = {z, 1, 0, 1, TILEWRIGHT_INT, 8, 1, triple, 0, 0};
  Y.data = y;
  TilewrightValue args[3] = {tilewright_array(&X), tilewright_array(&Y), tilewright_array(&Z)};
  TilewrightValue result = {0};
  int status = __tvm_ffi_main_into(0, args, 3, &result);
  printf("%d %g %d\\n", status, y[1], z[2]);
  printf("%d\\n", __tvm_ffi_main(0, args, 1, &result));
  return 0;
}
"""


def test_a_callback_gets_tuples_too():
    import tvm_ffi

    from tilewright.runtime.packed_func import from_callable

    seen = []
    from_callable(seen.append, "see")(tvm_ffi.convert([1, [2, 3]]))
    assert seen == [(1, (2, 3))]


def test_ctypes_sees_the_layout_that_the_code_writes():
    y = tvm.build(returning("[0, 1]"), target="llvm")(np.ones((3, 2), "float32"))[0]
    capsule = y.__dlpack__(max_version=(1, 0))
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    assert name(capsule) == b"dltensor_versioned"
    assert y.strides == (2, 1)
    assert y.shape == (3, 2)
