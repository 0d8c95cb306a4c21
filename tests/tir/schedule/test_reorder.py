"""Reordering loops."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning, assert_would_be_wrong
from tests.tir.schedule.loop_programs import (
    elementwise,
    matmul,
    plain_loops,
    prefix_sum,
    triangle,
    two_products,
    wavefront,
)

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def names(sch, block):
    return [sch.get(loop).loop_var.name for loop in sch.get_loops(block)]


def test_the_order_and_what_is_between():
    sch = Schedule(matmul, debug_mask="all")
    i, _, k = sch.get_loops("C")
    sch.reorder(k, i)
    assert names(sch, "C") == ["k", "j", "i"]
    assert_same_meaning(matmul, sch)


def test_tiling():
    sch = Schedule(matmul, debug_mask="all")
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 4])
    k0, k1 = sch.split(k, [None, 3])
    sch.reorder(k0, i0, j0, k1, j1, i1)
    assert names(sch, "C") == ["k_0", "i_0", "j_0", "k_1", "j_1", "i_1"]
    assert_same_meaning(matmul, sch)


def test_the_same_order_and_one_loop_change_nothing():
    sch = Schedule(matmul)
    before = sch.mod["main"]
    i, j, k = sch.get_loops("C")
    sch.reorder(i, j, k)
    sch.reorder(k)
    assert sch.mod["main"] is before


def test_a_dependence_that_allows_another_order():
    sch = Schedule(wavefront, debug_mask="all")
    i, j = sch.get_loops("A")
    _, i1 = sch.split(i, [5, 1])
    sch.reorder(j, i1)  # one iteration of i1: the order stays the same
    assert_same_meaning(wavefront, sch)


def test_a_broken_dependence_is_shown_with_two_instances():
    def steps(sch):
        i, j = sch.get_loops("A")
        sch.reorder(j, i)

    with pytest.raises(ScheduleError, match="the new order breaks a dependence") as info:
        steps(Schedule(wavefront))
    assert "Counterexample: A[" in str(info.value)
    assert_would_be_wrong(wavefront, steps)


def test_the_start_of_a_reduction_stays_first():
    """Digits of a fused loop can bring a later update before the one that initialises."""

    @T.prim_func
    def rows(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6,), "float32")):
        for i, _j, k in T.grid(6, 1, 8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    def flat(sch):
        i, j, k = sch.get_loops("C")
        sch.reorder(j, i)
        fused = sch.fuse(i, k)
        f0, f1 = sch.split(fused, [None, 3])
        sch.reorder(f1, f0)

    with pytest.raises(ScheduleError, match="breaks a dependence"):
        flat(Schedule(rows))
    assert_would_be_wrong(rows, flat)


def refusals():
    def twice(sch):
        i, _, _ = sch.get_loops("C")
        sch.reorder(i, i)

    def two_nests(sch):
        sch.reorder(sch.get_loops("C")[0], sch.get_loops("D")[0])

    def across_a_sequence(sch):
        sch.merge(sch.get_loops("C")[0], sch.get_loops("D")[0])
        m, _, k = sch.get_loops("C")
        sch.reorder(k, m)

    def three(sch):
        m, l, _ = sch.get_loops("C")
        sch.reorder(l, sch.get_loops("D")[1], m)

    return [
        (twice, "a loop is given more than once"),
        (two_nests, "the loops are not on one chain"),
        (across_a_sequence, "between loop `m_m` and loop `k` there is more than loops"),
        (three, "the loops are not on one chain"),
    ]


@pytest.mark.parametrize(("steps", "message"), refusals())
def test_refusals(steps, message):
    with pytest.raises(ScheduleError, match=message):
        steps(Schedule(two_products))


def test_bounds_that_depend_on_a_loop():
    sch = Schedule(triangle)
    i, j = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="bounds of loop `j` depend on loop `i`"):
        sch.reorder(j, i)


def test_blocks_that_do_not_depend_on_the_order():
    sch = Schedule(elementwise)
    i, j = sch.get_loops("B")
    sch.reorder(j, i)
    assert_same_meaning(elementwise, sch)
    sch = Schedule(prefix_sum)
    (i,) = sch.get_loops("B")
    i0, i1 = sch.split(i, [2, 4])
    with pytest.raises(ScheduleError, match="breaks a dependence"):
        sch.reorder(i1, i0)


def test_a_loop_around_no_block():
    sch, j, k = plain_loops()
    with pytest.raises(ScheduleError, match="`k` is inside of the body of block `row`"):
        sch.reorder(k, j)


def test_dependences_that_are_not_known():
    @T.prim_func
    def by_data(A: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(A[j, i] > T.float32(0))
                A[vi, vj] = A[vi, vj] - T.float32(2)

    sch = Schedule(by_data)
    i, j = sch.get_loops("A")
    with pytest.raises(ScheduleError, match="not known whether the new order respects all"):
        sch.reorder(j, i)
