"""Compiled code that calls functions by name."""

import numpy as np
import pytest
from tests.runtime.programs import prim_func

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import LoweringError, UnknownNameError


@pytest.fixture
def calls():
    """What the function ``test.callee`` was called with; it returns the last of it."""
    seen = []

    @tvm.register_func("test.callee", override=True)
    def callee(*args):
        seen.append(args)
        return args[-1]

    yield seen
    tvm.remove_global_func("test.callee")


def call(*args):
    return tir.call_packed("test.callee", *args)


def build(params, *values):
    return tvm.build(prim_func(params, tir.Evaluate(call(*values))), target="llvm")


def test_numbers_and_strings(calls):
    n, x = te.var("n", "int32"), te.var("x", "float32")
    build([n, x], n + 1, x * 2, "a longer string than eight", tir.const(True), n > 3)(3, 1.5)
    assert calls == [(4, 3.0, "a longer string than eight", True, False)]


def test_a_parameter_is_passed_on_and_may_be_kept(calls):
    buffer = tir.decl_buffer((2, 3), "float64", "A")
    values = np.arange(6.0).reshape(2, 3)
    build([buffer], buffer, 1)(values)
    kept = calls[0][0]
    assert isinstance(kept, tvm.nd.NDArray)
    assert kept.data_ptr() == values.ctypes.data
    address = values.ctypes.data
    del values
    assert kept.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert kept.data_ptr() == address


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "int8"])
def test_other_views_of_memory(calls, dtype):
    n = te.size_var("n")
    whole = tir.decl_buffer((n,), dtype, "A")
    part = tir.decl_buffer((2, n - 3), dtype, "part", whole.data, strides=(1, 2), elem_offset=1)
    values = np.arange(4).astype(tvm.ir.DType(dtype).numpy)
    seen = []
    tvm.register_func("test.callee", lambda array: seen.append(array.numpy()), override=True)
    build([whole], part)(values)
    itemsize = values.itemsize
    view = np.lib.stride_tricks.as_strided(values[1:], (2, 1), (itemsize, 2 * itemsize))
    np.testing.assert_array_equal(seen[0], view)
    assert seen[0].dtype == values.dtype


def test_the_result_is_a_value(calls):
    buffer = tir.decl_buffer((2,), "int32", "A")
    body = tir.seq(
        buffer.vstore((0,), call(7) + call(5)),
        tir.IfThenElse(call(1).equal(1), buffer.vstore((1,), tir.const(9))),
    )
    values = np.zeros(2, np.int32)
    tvm.build(prim_func([buffer], body), target="llvm")(values)
    assert values.tolist() == [12, 9]
    assert calls == [(7,), (5,), (1,)]


def test_calls_in_a_loop_and_a_branch(calls):
    i, n = te.var("i"), te.var("n")
    body = tir.For(
        i, tir.const(0), n, tir.ForKind.SERIAL,
        tir.IfThenElse((i % 2).equal(0), tir.Evaluate(call(i))),
    )  # fmt: skip
    tvm.build(prim_func([n], body), target="llvm")(5)
    assert calls == [(0,), (2,), (4,)]


def test_an_array_that_the_callee_returns_is_released(calls):
    build([], 0)()
    tvm.register_func("test.callee", lambda n: np.zeros(3), override=True)
    build([], 0)()


def test_the_exception_of_the_callee_arrives_and_ends_the_function():
    class OddError(Exception):
        pass

    error = OddError("it happened")

    def fail(n):
        if n == 2:
            raise error

    buffer = tir.decl_buffer((1,), "int32", "A")
    i = te.var("i")
    step = tir.seq(buffer.vstore((0,), i), tir.Evaluate(tir.call_packed("test.fail", i)))
    body = tir.For(i, tir.const(0), tir.const(9), tir.ForKind.SERIAL, step)
    values = np.zeros(1, np.int32)
    tvm.register_func("test.fail", fail)
    try:
        with pytest.raises(OddError) as caught:
            tvm.build(prim_func([buffer], body), target="llvm")(values)
    finally:
        tvm.remove_global_func("test.fail")
    assert caught.value is error
    assert values[0] == 2


def test_a_missing_function():
    module = tvm.build(
        prim_func([], tir.Evaluate(tir.call_packed("test.no_such", 1))), target="llvm"
    )
    with pytest.raises(UnknownNameError, match=r"no registered function named 'test\.no_such'"):
        module()


def test_a_function_of_the_same_module():
    n = te.var("n")
    buffer = tir.decl_buffer((1,), "int32", "A")
    inner = prim_func([buffer, n], buffer.vstore((0,), n * 3), "inner")
    outer_buffer, m = tir.decl_buffer((1,), "int32", "A"), te.var("m")
    call_inner = tir.Evaluate(tir.call_cpacked("inner", outer_buffer, m + 1))
    outer = prim_func([outer_buffer, m], call_inner, "main")
    module = tvm.build(tvm.IRModule({"main": outer, "inner": inner}), target="llvm")
    values = np.zeros(1, np.int32)
    module(values, 4)
    assert values[0] == 15


def test_te_extern():
    a = te.placeholder((3, 4), name="A")
    c = te.extern((3, 4), [a], lambda i, o: tir.call_packed("test.double", i[0], o[0]), name="C")
    d = te.compute((3, 4), lambda i, j: c[i, j] + 1.0, name="D")

    @tvm.register_func("test.double")
    def double(source, target):
        target[:] = source.numpy() * 2

    values, result = np.random.default_rng(1).random((3, 4), np.float32), np.zeros((3, 4), "f4")
    try:
        tvm.build(te.create_schedule(d.op), [a, d], "llvm")(values, result)
    finally:
        tvm.remove_global_func("test.double")
    np.testing.assert_allclose(result, values * 2 + 1, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        lambda i: tir.While(call(1).equal(0), tir.Evaluate(tir.const(0))),
        lambda i: tir.For(i, tir.const(0), call(3), tir.ForKind.SERIAL, tir.Evaluate(i)),
        lambda i: tir.Evaluate(tir.if_then_else(call(1).equal(1), call(2), tir.const(3))),
    ],
)
def test_places_where_a_call_cannot_stand(body):
    with pytest.raises(LoweringError, match="call_packed cannot stand in"):
        tvm.build(prim_func([], body(te.var("i"))), target="llvm")
