"""Packing a matrix into panels as a composition of primitives."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright.script import tir as T
from tilewright.tir import Schedule

PANEL = 8


def matmul(m, n, k):
    @T.prim_func
    def func(
        A: T.Buffer((m, k), "float32"),
        B: T.Buffer((k, n), "float32"),
        C: T.Buffer((m, n), "float32"),
    ):
        for i, j, l in T.grid(m, n, k):
            with T.block("C"):
                vi, vj, vl = T.axis.remap("SSR", [i, j, l])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vl] * B[vl, vj]

    return func


SIZES = [(2, 16, 3), (3, 20, 5), (1, 7, 4)]


def cache_of(sch, block):
    return sch.get(block).writes[0].buffer


def panels_in_front(sch, packed):
    """Panels of B: whole columns of a panel one after the other, all panels in front."""
    return sch.reindex_cache_read("C", 1, packed, lambda _i, j, l: (j // PANEL, l, j % PANEL))


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_all_panels_in_front(m, n, k):
    before = matmul(m, n, k)
    sch = Schedule(before, debug_mask="all")
    copy = panels_in_front(sch, "global")
    panels = -(-n // PANEL)
    assert [extent.value for extent in cache_of(sch, copy).shape] == [panels, k, min(n, PANEL)]
    assert_same_meaning(before, sch)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_one_panel_at_a_time(m, n, k):
    before = matmul(m, n, k)
    sch = Schedule(before, debug_mask="all")
    i, j, l = sch.get_loops("C")
    panel, column = sch.split(j, [None, PANEL])
    sch.reorder(panel, i, l, column)
    copy = panels_in_front(sch, "global")
    sch.compute_at(copy, panel)
    _, *inner = sch.get_loops(copy)
    assert sch.get(inner[0]).extent.value in (k, min(n, PANEL))
    assert_same_meaning(before, sch)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_panels_of_a_part_of_the_reduction(m, n, k):
    before = matmul(m, n, k)
    sch = Schedule(before, debug_mask="all")
    i, j, l = sch.get_loops("C")
    panel, column = sch.split(j, [None, PANEL])
    l_outer, l_inner = sch.split(l, [None, 2])
    sch.reorder(l_outer, panel, i, l_inner, column)
    copy = panels_in_front(sch, "global")
    sch.compute_at(copy, panel)
    assert_same_meaning(before, sch)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_the_same_layout_as_the_matrix(m, n, k):
    before = matmul(m, n, k)
    sch = Schedule(before, debug_mask="all")
    i, j, l = sch.get_loops("C")
    panel, column = sch.split(j, [None, PANEL])
    sch.reorder(panel, i, l, column)
    copy = sch.cache_read("C", "B", "global")
    sch.compute_at(copy, panel)
    back = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(back, panel)
    assert_same_meaning(before, sch)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_panels_that_are_filled_up(m, n, k):
    before = matmul(m, n, k)
    sch = Schedule(before, debug_mask="all")
    sch.pad_einsum("C", [1, PANEL, 1])
    copy = panels_in_front(sch, "global")
    panels = -(-n // PANEL)
    assert [extent.value for extent in cache_of(sch, copy).shape] == [panels, k, PANEL]
    i, j, l = sch.get_loops("C")
    panel, column = sch.split(j, [None, PANEL])
    sch.reorder(panel, i, l, column)
    (fill,) = sch.get_producers(copy) or [None]
    if fill is not None:
        sch.compute_inline(fill)
    sch.compute_at(copy, panel)
    assert "T.where" not in sch.mod["main"].script()
    assert_same_meaning(before, sch)
