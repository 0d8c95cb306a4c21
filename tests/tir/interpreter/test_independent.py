"""Independent iterations all at once: the results of the interpreter, and what is left to it."""

import ml_dtypes
import numpy as np
import pytest

from tilewright import te, topi
from tilewright.error import InterpreterError
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.interpreter.independent import independent_iterations


def both_results(function, *inputs, shape, dtype):
    """What `independent_iterations` and the interpreter write over zeros."""
    at_once, one_by_one = np.zeros(shape, dtype), np.zeros(shape, dtype)
    iterations = independent_iterations(function)
    assert iterations is not None
    iterations.run(*inputs, at_once)
    interpret(function, *inputs, one_by_one)
    return at_once, one_by_one


def assert_bitwise_equal(one, other):
    assert one.shape == other.shape
    assert one.tobytes() == other.tobytes()


def floats(*shape, dtype="float32"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize(
    ("columns", "panels"), [(32, 2), (20, 2)], ids=["whole panels", "a part of a panel"]
)
def test_panels_of_columns(dtype, columns, panels):
    @T.prim_func
    def pack(a: T.Buffer((7, columns), dtype), b: T.Buffer((panels, 7, 16), dtype)):
        for j, i in T.grid(columns, 7):
            with T.block("b"):
                vj, vi = T.axis.remap("SS", [j, i])
                b[vj // 16, vi, vj % 16] = a[vi, vj]

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    source = (100 * floats(7, columns)).astype(kind)
    assert_bitwise_equal(*both_results(pack, source, shape=(panels, 7, 16), dtype=kind))


OPERANDS = [te.placeholder(shape, name=name) for name, shape in (("a", (3, 5, 2)), ("b", (5, 1)))]


@pytest.mark.parametrize(
    "compute",
    [
        lambda a, b: topi.multiply(a, b),
        lambda a, b: topi.subtract(b, a),
        lambda a, b: topi.divide(b, a),
        lambda a, b: topi.rsqrt(a),
        lambda a, b: topi.transpose(a, (2, 0, 1)),
        lambda a, b: topi.sqrt(a),
        lambda a, b: topi.cast(a, "float64"),
        lambda a, b: topi.add(a, 0.1),
        lambda a, b: topi.reshape(a, (5, 6)),
    ],
)
def test_elementwise_functions(compute):
    output = compute(*OPERANDS)
    function = te.create_prim_func([*OPERANDS, output])
    values = [floats(3, 5, 2), floats(5, 1)]
    values[0][0, 0] = [0.0, np.inf]
    shape = tuple(extent.value for extent in output.shape)
    assert_bitwise_equal(*both_results(function, *values, shape=shape, dtype=output.dtype))


def test_loops_that_begin_later_and_have_one_iteration():
    @T.prim_func
    def shifted(a: T.Buffer((6, 1), "float32"), b: T.Buffer((8,), "float32")):
        for i in T.serial(2, 6):
            for j in range(1):
                with T.block("b"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(1, j)
                    b[vi + 1] = a[vi, vj] * a[5 - vi, 0]

    assert_bitwise_equal(*both_results(shifted, floats(6, 1), shape=(8,), dtype="float32"))


def test_no_dimensions():
    a = te.placeholder((), name="a")
    function = te.create_prim_func([a, te.compute((), lambda: a() + 1.0, name="b")])
    assert_bitwise_equal(*both_results(function, floats(), shape=(), dtype="float32"))


def test_accesses_out_of_bounds():
    @T.prim_func
    def beyond(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                b[vi] = a[vi - 1]

    arrays = floats(4), floats(4)
    iterations = independent_iterations(beyond)
    assert iterations is not None
    for run in (iterations.run, lambda *arrays: interpret(beyond, *arrays)):
        with pytest.raises(InterpreterError):
            run(*arrays)


@T.prim_func
def running_sum(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(3):
        with T.block("b"):
            vi = T.axis.spatial(3, i)
            b[vi + 1] = b[vi] + a[vi]


@T.prim_func
def same_element(a: T.Buffer((4,), "float32"), b: T.Buffer((1,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            b[0] = a[vi]


@T.prim_func
def gathered(a: T.Buffer((4,), "int32"), b: T.Buffer((4,)), c: T.Buffer((4,))):
    for i in range(4):
        with T.block("c"):
            vi = T.axis.spatial(4, i)
            c[vi] = b[a[vi]]


@T.prim_func
def wrapping(a: T.Buffer((4,), "int8"), b: T.Buffer((4,), "int8")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            b[vi] = a[vi] * a[vi]


@T.prim_func
def guarded(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            T.where(i < 3)
            b[vi] = a[vi]


@pytest.mark.parametrize("function", [running_sum, same_element, gathered, wrapping, guarded])
def test_what_is_left_to_the_interpreter(function):
    assert independent_iterations(function) is None


def test_reductions_are_left_to_the_interpreter():
    a = te.placeholder((4, 5), name="a")
    assert independent_iterations(te.create_prim_func([a, topi.sum(a, axis=1)])) is None
