"""Gathers that become loads of rows: what it makes, and when it keeps its hands off."""

import numpy as np
import pytest
from tests.tir.transform.programs import of_kind

import tilewright as tvm
from tilewright.ir.expr import IntImm, Ramp
from tilewright.ir.rewrite import Rewriter
from tilewright.script import tir as T
from tilewright.tir import BufferLoad, BufferStore, ForKind
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.interleave_stores import interleave_stores
from tilewright.tir.transform.transpose_gathers import transpose_gathers
from tilewright.tir.transform.unroll import unroll


def gathers(func):
    """The loads of elements that are not neighbours."""
    indices = (load.indices[0] for load in of_kind(func.body, BufferLoad))
    return [
        index
        for index in indices
        if isinstance(index, Ramp)
        and not (isinstance(index.stride, IntImm) and index.stride.value == 1)
    ]


def assert_same(before, after, *shapes):
    """Both functions, and native code for the second, leave the same in random arrays."""
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 99, shape).astype("float32") for shape in shapes]
    left, right, native = ([array.copy() for array in arrays] for _ in range(3))
    interpret(before, *left)
    interpret(after, *right)
    tvm.build(before, target="llvm")(*native)
    for want, got, compiled in zip(left, right, native, strict=True):
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(compiled, want)


def columns(lanes, count, stride, first=0):
    """`count` columns next to each other, of `lanes` rows that are `stride` apart."""

    @T.prim_func
    def function(A: T.Buffer((lanes * stride + 16,)), B: T.Buffer((lanes * count,))):
        T.func_attr({"tir.noalias": True})
        for c in T.unroll(count):
            B[T.Ramp(c * lanes, 1, lanes)] = A[T.Ramp(first + c, stride, lanes)]

    return unroll(function)


@pytest.mark.parametrize("first", [0, 5])
@pytest.mark.parametrize(
    ("lanes", "count", "stride"), [(4, 4, 7), (8, 8, 8), (16, 16, 21), (8, 4, 4), (16, 8, 3)]
)
def test_columns_are_made_of_rows(lanes, count, stride, first):
    before = columns(lanes, count, stride, first)
    after = transpose_gathers(before)
    assert len(gathers(before)) == count
    assert not gathers(after)
    assert (
        len([load for load in of_kind(after.body, BufferLoad) if load.buffer.name == "A"]) == lanes
    )
    assert_same(before, after, lanes * stride + 16, lanes * count)


@pytest.mark.parametrize("rows", [0, 3, 6, 8])
def test_rows_that_no_lane_loads_are_zeros(rows):
    """The array ends with the last row that is loaded."""
    size = max(rows - 1, 0) * 20 + 8

    @T.prim_func
    def before(A: T.Buffer((size,)), B: T.Buffer((64,))):
        T.func_attr({"tir.noalias": True})
        for c in T.unroll(8):
            B[T.Ramp(c * 8, 1, 8)] = A.vload(
                [T.Ramp(c, 20, 8)], predicate=T.Ramp(0, 1, 8) < T.Broadcast(rows, 8)
            )

    before = unroll(before)
    after = transpose_gathers(before)
    assert len(gathers(before)) == 8
    assert not gathers(after)
    assert len([x for x in of_kind(after.body, BufferLoad) if x.buffer.name == "A"]) == rows
    assert_same(before, after, size, 64)


@pytest.mark.parametrize("rows", [0, 1, 5, 8, 9])
def test_how_many_lanes_are_loaded_may_be_known_only_when_it_runs(rows):
    size = max(rows - 1, 0) * 20 + 8

    @T.prim_func
    def before(A: T.Buffer((size,)), B: T.Buffer((64,)), n: T.int32):
        T.func_attr({"tir.noalias": True})
        for c in T.unroll(8):
            B[T.Ramp(c * 8, 1, 8)] = A.vload(
                [T.Ramp(c, 20, 8)], predicate=T.Ramp(2, 1, 8) < T.Broadcast(n, 8)
            )

    after = transpose_gathers(unroll(before))
    assert not gathers(after)
    a = np.random.default_rng(0).random(size).astype("float32")
    left, right, native = (np.full(64, -1, "float32") for _ in range(3))
    interpret(before, a, left, rows + 2)
    interpret(after, a, right, rows + 2)
    tvm.build(before, target="llvm")(a, native, rows + 2)
    np.testing.assert_array_equal(right, left)
    np.testing.assert_array_equal(native, left)


@pytest.mark.parametrize(("count", "size"), [(4, 4), (8, 4), (16, 4), (12, 4), (16, 2), (6, 2)])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_groups_of_neighbours_are_moved_as_one_element(count, size, lanes):
    """The lanes of each step of a transposition are groups, which are stored as they are."""
    dtype = {4: "int8", 2: "int16"}[size]

    @T.prim_func
    def before(A: T.Buffer((lanes * 21 + 16,), dtype), B: T.Buffer((count * lanes,), dtype)):
        T.func_attr({"tir.noalias": True})
        for group in T.unroll(count // size):
            for part in T.unroll(size):
                B[T.Ramp(group * size * lanes + part, size, lanes)] = T.bitwise_xor(
                    A[T.Ramp(group * size + part + 3, 21, lanes)],
                    T.Broadcast(T.Cast(dtype, -128), lanes),
                )

    after = transpose_gathers(unroll(before))
    assert not gathers(after)
    merged = interleave_stores(after)
    stores = [s for s in of_kind(merged.body, BufferStore) if s.buffer.name == "B"]
    assert [s.value.dtype.lanes for s in stores] == [size * lanes] * (count // size)
    assert all(s.value.dtype.bits * s.value.dtype.lanes == 32 * lanes for s in stores)
    rng = np.random.default_rng(0)
    a = rng.integers(-100, 100, lanes * 21 + 16).astype(dtype)
    left, right, native = (np.zeros(count * lanes, dtype) for _ in range(3))
    interpret(before, a, left)
    interpret(merged, a, right)
    tvm.build(before, target="llvm")(a, native)
    np.testing.assert_array_equal(right, left)
    np.testing.assert_array_equal(native, left)


def test_as_many_columns_as_there_are():
    before = columns(8, 14, 20)
    after = transpose_gathers(before)
    assert len(gathers(after)) == 2  # eight, four, and two that are too few
    assert_same(before, after, 176, 112)


@T.prim_func
def repeated(A: T.Buffer((64,), "float32"), B: T.Buffer((32,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    for i in range(2):
        B[0:4] = A[T.Ramp(i, n, 4)] * A[T.Ramp(i + 1, n, 4)]
        B[4:8] = A[T.Ramp(i + 2, n, 4)] + A[T.Ramp(i + 1, n, 4)]
        B[i * 8 + 8 : i * 8 + 12] = A[T.Ramp(i + 3, n, 4)]


def test_distances_that_are_not_known_and_columns_that_are_used_twice():
    after = transpose_gathers(repeated)
    assert not gathers(after)
    a = np.arange(64, dtype="float32")
    left, right = np.zeros(32, "float32"), np.zeros(32, "float32")
    interpret(repeated, a, left, 9)
    interpret(after, a, right, 9)
    np.testing.assert_array_equal(left, right)


@T.prim_func
def may_alias(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
    B[0:4] = A[T.Ramp(0, 8, 4)]
    B[4:8] = A[T.Ramp(1, 8, 4)]
    B[8:12] = A[T.Ramp(2, 8, 4)]
    B[12:16] = A[T.Ramp(3, 8, 4)]


@T.prim_func
def in_place(A: T.Buffer((64,), "float32")):
    T.func_attr({"tir.noalias": True})
    A[0:4] = A[T.Ramp(0, 8, 4)]
    A[8:12] = A[T.Ramp(1, 8, 4)]
    A[16:20] = A[T.Ramp(2, 8, 4)]
    A[24:28] = A[T.Ramp(3, 8, 4)]


@T.prim_func
def one_is_missing(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"tir.noalias": True})
    B[0:4] = A[T.Ramp(0, 8, 4)]
    B[4:8] = A[T.Ramp(1, 8, 4)]
    B[12:16] = A[T.Ramp(3, 8, 4)]


@T.prim_func
def interrupted(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    B[0:4] = A[T.Ramp(0, 8, 4)]
    B[4:8] = A[T.Ramp(1, 8, 4)]
    if n > 0:
        B[8:12] = A[T.Ramp(2, 8, 4)]
    B[12:16] = A[T.Ramp(3, 8, 4)]


@T.prim_func
def masked(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
    B[0:4] = A.vload([T.Ramp(0, 8, 4)], predicate=T.Ramp(0, 1, 4) < T.Broadcast(n, 4))
    B[4:8] = A[T.Ramp(1, 8, 4)]
    B[8:12] = A[T.Ramp(2, 8, 4)]
    B[12:16] = A[T.Ramp(3, 8, 4)]


@T.prim_func
def different_distances(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"tir.noalias": True})
    B[0:4] = A[T.Ramp(0, 8, 4)]
    B[4:8] = A[T.Ramp(1, 8, 4)]
    B[8:12] = A[T.Ramp(2, 9, 4)]
    B[12:16] = A[T.Ramp(3, 9, 4)]


@pytest.mark.parametrize(
    "func", [may_alias, in_place, one_is_missing, interrupted, masked, different_distances]
)
def test_what_is_no_square_stays(func):
    assert transpose_gathers(func) is func


@T.prim_func
def many_matrices(A: T.Buffer((2048,), "float32"), B: T.Buffer((2048,), "float32")):
    T.func_attr({"tir.noalias": True})
    for n, c in T.grid(64, 4):
        B[T.Ramp(n * 32 + c * 8, 1, 8)] = A[T.Ramp(n * 32 + c, 4, 8)]


def test_many_matrices_in_a_row():
    """Each has its own registers: nothing is nested, so their number does not matter."""

    class EveryLoop(Rewriter):
        def For(self, loop):
            return loop.replace(kind=ForKind.UNROLLED, body=self(loop.body))

    before = unroll(many_matrices.with_body(EveryLoop()(many_matrices.body)))
    after = transpose_gathers(before)
    assert not gathers(after)
    assert_same(before, after, 2048, 2048)
