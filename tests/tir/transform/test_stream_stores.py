"""Stores past the caches: where they are made, and that they store the same."""

import numpy as np
import pytest
from tests.passes import legalize_for, lower

import tilewright as tvm
from tilewright.error import LoweringError
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir import AttrStmt, For, Schedule
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.stream_stores import NONTEMPORAL_STORES

TARGET = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"


def exponentials(count, lanes):
    """B = exp(A), annotated."""

    @T.prim_func
    def function(A: T.Buffer((count,)), B: T.Buffer((count,))):
        T.func_attr({"tir.noalias": True})
        for i in range(count):
            with T.block("B"):
                vi = T.axis.spatial(count, i)
                B[vi] = T.exp(A[vi])

    sch = Schedule(function)
    outer, inner = sch.split(sch.get_loops("B")[0], [None, lanes])
    sch.vectorize(inner)
    sch.annotate(outer, NONTEMPORAL_STORES, ["B"])
    return sch.mod["main"]


def doubled(rows, columns, value=("B",), kind=None, lanes=8):
    """B = 2 A with vectors of 8 elements, annotated."""

    @T.prim_func
    def function(A: T.Buffer((rows, columns)), B: T.Buffer((rows, columns))):
        T.func_attr({"tir.noalias": True})
        for i, j in T.grid(rows, columns):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    sch = Schedule(function)
    i, j = sch.get_loops("B")
    _, inner = sch.split(j, [None, lanes])
    sch.vectorize(inner)
    if kind is not None:
        getattr(sch, kind)(i)
    sch.annotate(i, NONTEMPORAL_STORES, list(value) if isinstance(value, tuple) else value)
    return sch.mod["main"]


def vector_bytes(func):
    """The alignment that the streaming parts of a function ask for."""
    lowered = legalize_for(lower(func), Target(TARGET))
    assert not any(s.annotations for s in statements(lowered.body) if isinstance(s, For))
    marks = [s for s in statements(lowered.body) if isinstance(s, AttrStmt)]
    return [int(s.value) for s in marks if s.attr_key == NONTEMPORAL_STORES]


def test_vectors_that_are_aligned_with_their_memory():
    assert vector_bytes(doubled(3, 64)) == [32]
    assert vector_bytes(doubled(3, 64, lanes=4)) == [16]
    assert vector_bytes(doubled(3, 60)) == []  # the rows after the first are not aligned
    # Longer ones are stored by registers.
    assert vector_bytes(doubled(3, 64, lanes=64)) == [32]


def test_long_vectors_need_no_more_than_the_alignment_of_a_line():
    """Several chains of operations are computed side by side, as one long vector."""
    assert vector_bytes(exponentials(256, lanes=128)) == [64]


def test_a_dictionary_says_whether_it_is_done():
    assert vector_bytes(doubled(3, 64, value={"B": 1})) == [32]
    assert vector_bytes(doubled(3, 64, value={"B": 0})) == []


def instructions(func):
    module = tvm.build(func, target=TARGET)
    return module.get_source("asm")


def test_instructions():
    text = instructions(doubled(3, 64))
    assert "vmovntps" in text
    assert "sfence" in text
    assert "vmovntps" not in instructions(doubled(3, 60))


@pytest.mark.parametrize("shape", [(3, 64), (3, 61), (1, 8)])
@pytest.mark.parametrize("offset", [0, 1, 8])
def test_aligned_and_other_memory(shape, offset):
    func = doubled(*shape)
    size = shape[0] * shape[1]
    memory = np.zeros(size + 32, "float32")
    start = -(memory.ctypes.data // 4) % 16 + offset
    b = memory[start : start + size].reshape(shape)
    a = np.arange(size, dtype="float32").reshape(shape)
    tvm.build(func, target="llvm")(a, b)
    np.testing.assert_array_equal(b, a * 2)
    assert np.count_nonzero(memory) == np.count_nonzero(a)


def test_what_is_left_behind_whole_tiles_has_ordinary_stores():
    @T.prim_func
    def transposition(A: T.Buffer((19, 16)), B: T.Buffer((16, 19))):
        T.func_attr({"tir.noalias": True})
        for i, j in T.grid(16, 19):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    sch = Schedule(transposition)
    i, j = sch.get_loops("B")
    tile, lane = sch.split(j, [None, 8])
    sch.reorder(tile, i, lane)
    sch.vectorize(lane)
    sch.annotate(i, NONTEMPORAL_STORES, ["B"])
    a, b = np.arange(19 * 16, dtype="float32").reshape(19, 16), np.zeros((16, 19), "float32")
    tvm.build(sch.mod, target="llvm")(a, b)
    np.testing.assert_array_equal(b, a.T)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (("C",), None, "loop i stores no whole vectors to a buffer 'C'"),
        (7, None, "of loop i must list names of buffers, got 7"),
        (("B",), "parallel", "loop i is parallel, or has such a loop inside"),
    ],
)
def test_annotations_that_make_no_sense(value, kind, message):
    with pytest.raises(LoweringError, match=message):
        tvm.build(doubled(3, 64, value, kind), target="llvm -num-cores=2")
