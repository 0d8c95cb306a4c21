"""Lanes are combined after loops: what it makes, and when it keeps its hands off."""

import numpy as np
import pytest
from tests.tir.transform.programs import of_kind

from tilewright.ir.expr import Call
from tilewright.ir.op import Op
from tilewright.script import tir as T
from tilewright.tir import Allocate, For
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.accumulate_lanes import accumulate_lanes

REDUCE = Op.get("tir.reduce_lanes")


def in_loops(func):
    """How many combinations of lanes there are inside of loops, and how many in all."""
    every = [call for call in of_kind(func.body, Call) if call.op is REDUCE]
    inside = [c for loop in of_kind(func.body, For) for c in of_kind(loop, Call) if c.op is REDUCE]
    return len(inside), len(every)


def assert_same(before, after, *arrays):
    """Both functions leave the same in copies of `arrays`."""
    left, right = ([array.copy() for array in arrays] for _ in range(2))
    interpret(before, *left)
    interpret(after, *right)
    for want, got in zip(left, right, strict=True):
        np.testing.assert_array_equal(got, want)


def integers(*shape):
    return np.random.default_rng(0).integers(-9, 9, shape).astype("float32")


@T.prim_func
def rows(A: T.Buffer((96,), "float32"), C: T.Buffer((2,), "float32")):
    T.func_attr({"tir.noalias": True})
    for k in range(3):
        for u in range(2):
            C[0] = C[0] + T.reduce_lanes("add", A[k * 16 + u * 8 : k * 16 + u * 8 + 8])
        C[1] = T.max(C[1], T.reduce_lanes("max", A[k * 16 + 48 : k * 16 + 56]))
        C[1] = T.max(C[1], T.reduce_lanes("max", A[k * 16 + 56 : k * 16 + 64]))


def test_lanes_are_combined_after_the_outermost_loop():
    after = accumulate_lanes(rows)
    assert in_loops(rows) == (4, 3)  # one of them in two loops
    assert in_loops(after) == (0, 2)
    # Both updates of C[1] have accumulators of their own.
    assert [int(a.extents[0]) for a in of_kind(after.body, Allocate)] == [24]
    assert_same(rows, after, integers(96), integers(2))


def test_few_registers_are_shared():
    after = accumulate_lanes(rows, vector_bits=256, vector_registers=6)
    assert [int(a.extents[0]) for a in of_kind(after.body, Allocate)] == [16]
    assert_same(rows, after, integers(96), integers(2))
    after = accumulate_lanes(rows, vector_bits=256, vector_registers=5)
    assert in_loops(after) == (2, 3)
    assert_same(rows, after, integers(96), integers(2))
    assert accumulate_lanes(rows, vector_bits=256, vector_registers=4) is rows


@T.prim_func
def with_a_rest(A: T.Buffer((29,), "float32"), C: T.Buffer((1,), "float32")):
    T.func_attr({"tir.noalias": True})
    C[0] = T.float32(1)
    for k in range(3):
        C[0] = C[0] * T.reduce_lanes("mul", A[k * 8 : k * 8 + 8])
    C[0] = C[0] * T.reduce_lanes("mul", A[24:28])
    C[0] = C[0] * A[28]


def test_what_follows_a_loop_uses_its_accumulators():
    after = accumulate_lanes(with_a_rest)
    assert in_loops(after) == (0, 2)  # one per number of lanes
    assert_same(with_a_rest, after, (2.0 ** (np.arange(29) % 3 - 1)).astype("float32"), integers(1))


@T.prim_func
def several_in_a_row(A: T.Buffer((16,), "float32"), C: T.Buffer((1,), "float32")):
    T.func_attr({"tir.noalias": True})
    C[0] = C[0] + T.reduce_lanes("add", A[0:8])
    C[0] = C[0] + T.reduce_lanes("add", A[8:16])


def test_updates_in_a_row_are_combined_once():
    after = accumulate_lanes(several_in_a_row)
    assert in_loops(after) == (0, 1)
    assert_same(several_in_a_row, after, integers(16), integers(1))


@T.prim_func
def maybe_no_iteration(A: T.Buffer((16,), "float32"), C: T.Buffer((4,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for k in range(n):
        C[n] = C[n] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])


@T.prim_func
def initialised(A: T.Buffer((16,), "float32"), C: T.Buffer((4,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    C[n] = T.float32(0)
    for k in range(n):
        C[n] = C[n] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])


def test_an_element_is_touched_only_if_it_was():
    assert accumulate_lanes(maybe_no_iteration) is maybe_no_iteration
    after = accumulate_lanes(initialised)
    assert in_loops(after) == (0, 1)
    for n in range(3):
        left, right = np.ones(4, "float32"), np.ones(4, "float32")
        interpret(initialised, integers(16), left, n)
        interpret(after, integers(16), right, n)
        np.testing.assert_array_equal(left, right)


@T.prim_func
def read_in_the_loop(A: T.Buffer((16,), "float32"), C: T.Buffer((2,), "float32")):
    T.func_attr({"tir.noalias": True})
    for k in range(2):
        C[0] = C[0] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])
        A[k] = C[0]


@T.prim_func
def may_alias(A: T.Buffer((16,), "float32"), C: T.Buffer((2,), "float32")):
    for k in range(2):
        C[0] = C[0] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])


@T.prim_func
def changing_element(A: T.Buffer((16,), "float32"), C: T.Buffer((2,), "float32")):
    T.func_attr({"tir.noalias": True})
    for k in range(2):
        C[k] = C[k] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])


@T.prim_func
def two_operators(A: T.Buffer((16,), "float32"), C: T.Buffer((2,), "float32")):
    T.func_attr({"tir.noalias": True})
    for k in range(2):
        C[0] = C[0] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])
        C[0] = T.max(C[0], T.reduce_lanes("max", A[k * 8 : k * 8 + 8]))


@T.prim_func
def mixed_operators(A: T.Buffer((16,), "float32"), C: T.Buffer((2,), "float32")):
    T.func_attr({"tir.noalias": True})
    for k in range(2):
        C[0] = C[0] + T.reduce_lanes("max", A[k * 8 : k * 8 + 8])


@T.prim_func
def only_scalars(A: T.Buffer((16,), "float32"), B: T.Buffer((1,)), C: T.Buffer((2,), "float32")):
    """Nobody asked for another order of this sum."""
    T.func_attr({"tir.noalias": True})
    for k in range(16):
        C[0] = C[0] + A[k]
    B[0] = T.reduce_lanes("max", A[0:8])


@T.prim_func
def two_elements_that_may_be_one(A: T.Buffer((16,)), C: T.Buffer((9,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for k in range(2):
        C[n] = C[n] + T.reduce_lanes("add", A[k * 8 : k * 8 + 8])
        C[0] = T.max(C[0], T.reduce_lanes("max", A[k * 8 : k * 8 + 8]))


@pytest.mark.parametrize(
    "func",
    [
        read_in_the_loop, may_alias, changing_element, two_operators, only_scalars,
        two_elements_that_may_be_one,
    ],
)  # fmt: skip
def test_what_is_needed_in_the_loop_stays(func):
    assert accumulate_lanes(func) is func


def test_a_sum_of_maxima_is_no_sum_of_lanes():
    assert in_loops(accumulate_lanes(mixed_operators)) == (1, 1)
