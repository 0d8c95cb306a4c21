"""Rows of small reductions side by side: what it makes, and when it keeps its hands off."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.ir.rewrite import walk
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import For, ForKind
from tilewright.tir.transform.unroll_and_jam import unroll_and_jam


@T.prim_func
def rows(A: T.Buffer((32,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(8):
            C[i] = C[i] + A[i * 8 + k] * B[k]


def loops(func):
    """The extents of the loops, outermost first."""
    return [node.extent.value for node in walk(func.body) if isinstance(node, For)]


def test_independent_rows_share_the_loop():
    jammed = unroll_and_jam(rows)
    assert loops(jammed) == [8]
    copies = jammed.body.body.seq
    assert [int(copy.indices[0]) for copy in copies] == [0, 1, 2, 3]
    a = np.random.default_rng(0).random(32, "float32")
    b = np.random.default_rng(1).random(8, "float32")
    c = np.zeros(4, "float32")
    tvm.build(jammed, target="llvm")(a, b, c)
    np.testing.assert_allclose(c, a.reshape(4, 8) @ b, rtol=1e-6)


def test_registers_limit_the_rows():
    # A row is one vector. Of 8 registers 4 are reserved, so all rows fit; of 6, two do.
    @T.prim_func
    def tile(A: T.Buffer((32,), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((64,))):
        T.func_attr({"tir.noalias": True})
        for i in range(4):
            for k in range(8):
                C[i * 16 : i * 16 + 16] = (
                    C[i * 16 : i * 16 + 16]
                    + T.Broadcast(A[i * 8 + k], 16) * B[k * 16 : k * 16 + 16]
                )

    assert loops(unroll_and_jam(tile, vector_registers=8)) == [8]
    assert loops(unroll_and_jam(tile, vector_registers=6)) == [2, 8]
    assert unroll_and_jam(tile, vector_registers=5) is tile


def test_parallel_rows_are_left_for_threads():
    """Four registers would do for four rows side by side; 64 groups of them are left at least."""

    @T.prim_func
    def many(A: T.Buffer((1280,), "float32"), C: T.Buffer((160,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in T.parallel(160):
            for k in range(8):
                C[i] = C[i] + A[i * 8 + k]

    jammed = unroll_and_jam(many, vector_registers=8)
    assert loops(jammed) == [80, 8]
    assert jammed.body.kind is ForKind.PARALLEL
    a, c = np.random.default_rng(0).random(1280, "float32"), np.zeros(160, "float32")
    interpret(jammed, a, c)
    np.testing.assert_allclose(c, a.reshape(160, 8).sum(1), rtol=1e-6)


@T.prim_func
def same_place(A: T.Buffer((32,), "float32"), C: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(8):
            C[0] = C[0] + A[i * 8 + k]


@T.prim_func
def reads_the_next_row(A: T.Buffer((32,), "float32"), C: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(8):
            C[i] = C[i + 1] + A[i * 8 + k]


@T.prim_func
def overlapping_vectors(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(8):
            C[i * 2 : i * 2 + 4] = C[i * 2 : i * 2 + 4] + T.Broadcast(A[i * 8 + k], 4)


@T.prim_func
def may_alias(A: T.Buffer((32,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        for k in range(8):
            C[i] = C[i] + A[i * 8 + k]


@T.prim_func
def triangle(A: T.Buffer((32,), "float32"), C: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(i + 1):
            C[i] = C[i] + A[i * 8 + k]


@T.prim_func
def no_reduction(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(8):
            C[i * 8 + k] = A[i * 8 + k]


@T.prim_func
def indirect(A: T.Buffer((32,), "float32"), P: T.Buffer((4,), "int32"), C: T.Buffer((4,))):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        for k in range(8):
            C[P[i]] = C[P[i]] + A[i * 8 + k]


@pytest.mark.parametrize(
    "func",
    [
        same_place, reads_the_next_row, overlapping_vectors, may_alias, triangle, no_reduction,
        indirect,
    ],
)  # fmt: skip
def test_rows_that_depend_on_each_other_stay_apart(func):
    assert unroll_and_jam(func) is func
