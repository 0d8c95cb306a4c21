"""Exponentials of differences from a maximum: where they are known to be at most 1."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi
from tilewright.ir.expr import Call
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.exponents import bound_exponents
from tilewright.script import tir as T

ROWS, COLUMNS = 5, 37


def names_of_exponentials(func):
    """The operators that the function calls, without ``tir.``."""
    calls = [node.op for node in walk(func.body) if isinstance(node, Call)]
    return {op.name.removeprefix("tir.") for op in calls if isinstance(op, Op) and "exp" in op.name}


def softmax_of(exponent, *, over=COLUMNS, dtype="float32"):
    """exp(exponent(x, the maxima of rows of x)) for each element, of the first `over` columns."""
    x = te.placeholder((ROWS, COLUMNS), dtype, name="x")
    k = te.reduce_axis((0, over), name="k")
    largest = te.compute((ROWS,), lambda i: te.max(x[i, k], axis=k), name="largest")
    y = te.compute((ROWS, COLUMNS), lambda i, j: te.exp(exponent(x, largest, i, j)), name="y")
    return te.create_prim_func([x, y])


def is_bounded(func):
    return names_of_exponentials(bound_exponents(func)) == {"exp_nonpositive"}


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(name, axis):
    x = te.placeholder((4, 6, 8), name="x")
    func = te.create_prim_func([x, getattr(topi.nn, name)(x, axis)])
    assert is_bounded(func)


def test_of_what_was_computed_before():
    x = te.placeholder((ROWS, COLUMNS), name="x")
    scaled = te.compute(x.shape, lambda *at: x(*at) * 0.125, name="scaled")
    assert is_bounded(te.create_prim_func([x, topi.nn.softmax(scaled)]))


@pytest.mark.parametrize(("factor", "known"), [(0.3, True), (-0.3, False), (0.0, False)])
def test_of_a_multiple(factor, known):
    func = softmax_of(lambda x, largest, i, j: (x[i, j] - largest[i]) * te.const(factor, "float32"))
    assert is_bounded(func) == known


def test_of_symbolic_rows():
    n = te.var("n")
    x = te.placeholder((n, n + 3), name="x")
    assert is_bounded(te.create_prim_func([x, topi.nn.softmax(x)]))


@pytest.mark.parametrize(
    "exponent",
    [
        lambda x, largest, i, j: largest[i] - x[i, j],
        lambda x, largest, i, j: x[i, j] - largest[(i + 1) % ROWS],
        lambda x, largest, i, j: x[ROWS - 1 - i, j] - largest[i],
        lambda x, largest, i, j: x[i, j] * 2.0 - largest[i],
        lambda x, largest, i, j: x[i, j] + largest[i],
        lambda x, largest, i, j: x[i, j],
    ],
)
def test_other_differences_may_be_positive(exponent):
    func = softmax_of(exponent)
    assert bound_exponents(func) is func or names_of_exponentials(bound_exponents(func)) == {"exp"}


def test_the_maximum_of_a_part_limits_that_part_only():
    assert not is_bounded(
        softmax_of(lambda x, largest, i, j: x[i, j] - largest[i], over=COLUMNS - 1)
    )


def test_minima_and_sums_are_no_maxima():
    x = te.placeholder((ROWS, COLUMNS), name="x")
    for reduce in (te.min, te.sum):
        k = te.reduce_axis((0, COLUMNS), name="k")
        other = te.compute((ROWS,), lambda i, k=k, f=reduce: f(x[i, k], axis=k), name="other")
        y = te.compute(x.shape, lambda i, j, o=other: te.exp(x[i, j] - o[i]), name="y")
        assert not is_bounded(te.create_prim_func([x, y]))


@T.prim_func
def changed(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
    T.func_attr({"tir.noalias": True})
    largest = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.float32("-inf")
            largest[vi] = T.max(largest[vi], X[vi, vk])
    for i, j in T.grid(4, 8):
        with T.block("X"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = X[vi, vj] * T.float32(50)
    for i, j in T.grid(4, 8):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.exp(X[vi, vj] - largest[vi])


@T.prim_func
def overlapping(
    X: T.Buffer((4, 8), "float32"), Z: T.Buffer((8,), "float32"), Y: T.Buffer((4, 8), "float32")
):
    largest = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 8):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.float32("-inf")
            largest[vi] = T.max(largest[vi], X[vi, vk])
    for j in range(8):
        with T.block("Z"):
            vj = T.axis.spatial(8, j)
            Z[vj] = T.float32(50)
    for i, j in T.grid(4, 8):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.exp(X[vi, vj] - largest[vi])


@pytest.mark.parametrize("func", [changed, overlapping])
def test_a_maximum_of_values_that_changed_limits_nothing(func):
    assert not is_bounded(func)
    assert is_bounded(overlapping.with_attr("tir.noalias", True))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_results(name, dtype):
    x = te.placeholder((ROWS, COLUMNS), dtype, name="x")
    built = tvm.build(te.create_prim_func([x, getattr(topi.nn, name)(x)]), target="llvm")
    given = np.random.default_rng(0).normal(0, 30, (ROWS, COLUMNS)).astype(dtype)
    given[1], given[2, 3], given[3, 5], given[4, 7] = -1e4, np.inf, np.nan, -np.inf
    a, result = tvm.nd.array(given), tvm.nd.empty((ROWS, COLUMNS), dtype)
    built(a, result)
    with np.errstate(all="ignore"):
        difference = given.astype("float64") - given.astype("float64").max(axis=1, keepdims=True)
        power = np.exp(difference)
        total = power.sum(axis=1, keepdims=True)
        expected = power / total if name == "softmax" else difference - np.log(total)
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-13}[dtype]
    np.testing.assert_allclose(result.numpy(), expected, tolerance, tolerance)
