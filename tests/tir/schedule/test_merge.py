"""Merging loops, decided by dependences."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning, assert_would_be_wrong
from tests.tir.schedule.loop_programs import two_products

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def merged_to_d(sch):
    return sch.merge(sch.get_loops("C")[1], sch.get_loops("D")[1])


def test_several_levels_are_merged_together():
    sch = Schedule(two_products, debug_mask="all")
    innermost = merged_to_d(sch)
    assert sch.get(innermost).loop_var.name == "l_m"
    assert [sch.get(x).loop_var.name for x in sch.get_loops("D")] == ["m_m", "l_m"]
    assert len(sch.get_loops("C")) == 3
    assert_same_meaning(two_products, sch)


def test_the_outer_loops_of_all_three():
    sch = Schedule(two_products, debug_mask="all")
    merged_to_d(sch)
    sch.merge(sch.get_loops("C")[0], sch.get_loops("F")[0])
    assert len({sch.get(sch.get_loops(name)[0]) for name in "CDF"}) == 1
    assert_same_meaning(two_products, sch)


def test_three_loops_at_once_in_any_order():
    sch = Schedule(two_products, debug_mask="all")
    first, second, third = (sch.get_loops(name)[0] for name in "CDF")
    sch.merge(third, first, second)
    assert len({sch.get(sch.get_loops(name)[0]) for name in "CDF"}) == 1
    assert_same_meaning(two_products, sch)


def test_merging_across_a_block_in_between_is_refused():
    def steps(sch):
        sch.merge(sch.get_loops("C")[0], sch.get_loops("F")[0])

    with pytest.raises(ScheduleError, match="the new order breaks a dependence") as info:
        steps(Schedule(two_products))
    assert "C[0, 0]: written by C at (vm=0, vl=0, vk=0) after it is read by D" in str(info.value)
    assert_would_be_wrong(two_products, steps)


def test_merging_inner_loops_too_early_is_refused():
    def steps(sch):
        sch.merge(sch.get_loops("C")[1], sch.get_loops("D")[1])
        sch.reorder(*reversed(sch.get_loops("F")[1:]))
        sch.merge(sch.get_loops("D")[0], sch.get_loops("F")[0])
        sch.merge(sch.get_loops("D")[1], sch.get_loops("F")[1])

    sch = Schedule(two_products)
    steps(sch)  # element by element of D, F sums up what is there already
    assert_same_meaning(two_products, sch)

    @T.prim_func
    def mirrored(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        C = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi] + T.float32(1)
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = C[7 - vi]

    def wrong(sch):
        sch.merge(sch.get_loops("C")[0], sch.get_loops("B")[0])

    with pytest.raises(ScheduleError, match="breaks a dependence") as info:
        wrong(Schedule(mirrored))
    assert "C[" in str(info.value)
    assert_would_be_wrong(mirrored, wrong)


@T.prim_func
def three(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32"), D: T.Buffer((7,), "float32")):
    C = T.alloc_buffer((6,))
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(7):
        with T.block("D"):
            vi = T.axis.spatial(7, i)
            D[vi] = C[vi % 6]
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] * T.float32(2)


def test_the_place_is_chosen_so_that_it_is_right_and_replays_without_proofs():
    sch = Schedule(three, debug_mask="all")
    sch.merge(sch.get_loops("C")[0], sch.get_loops("B")[0])
    assert 'place="first"' in str(sch.trace)
    assert_same_meaning(three, sch)
    again = Schedule(three, enable_check=False)
    sch.trace.apply_to_schedule(again)
    assert again.mod.script() == sch.mod.script()
    with pytest.raises(ScheduleError, match="breaks a dependence"):
        last = Schedule(three)
        last.merge(last.get_loops("C")[0], last.get_loops("B")[0], place="last")


def refusals():
    def one(sch):
        sch.merge(sch.get_loops("C")[0])

    def same(sch):
        m = sch.get_loops("C")[0]
        sch.merge(m, m)

    def nested(sch):
        m, l, _ = sch.get_loops("C")
        sch.merge(m, l)

    def depth(sch):
        sch.merge(sch.get_loops("C")[0], sch.get_loops("D")[1])

    def extents(sch):
        sch.merge(sch.get_loops("D")[1], sch.get_loops("F")[1])

    def siblings(sch):
        merged_to_d(sch)
        sch.merge(sch.get_loops("C")[2], sch.get_loops("F")[1])

    def annotated(sch):
        m = sch.get_loops("C")[0]
        sch.annotate(m, "pragma", 1)
        sch.merge(m, sch.get_loops("D")[0])

    def place(sch):
        sch.merge(sch.get_loops("C")[0], sch.get_loops("D")[0], place="middle")

    return [
        (one, "merge needs at least two loops"),
        (same, "loop `m` is given more than once"),
        (nested, "loop `l` is inside of loop `m`: use fuse"),
        (depth, "not equally deep: 1 and 2 loops"),
        (extents, "the extents of loop `l` and loop `n` differ: 8 and 5"),
        (siblings, "not the only statement in the loop around it"),
        (annotated, "has annotations"),
        (place, '`place` is "first" or "last", got \'middle\''),
    ]


@pytest.mark.parametrize(("steps", "message"), refusals())
def test_refusals(steps, message):
    with pytest.raises(ScheduleError, match=message):
        steps(Schedule(two_products))


def test_loops_of_different_scopes():
    @T.prim_func
    def scoped(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        with T.block("outer"):
            for i in range(4):
                with T.block("A"):
                    vi = T.axis.spatial(4, i)
                    A[vi] = T.float32(1)
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = T.float32(2)

    sch = Schedule(scoped)
    with pytest.raises(ScheduleError, match="is in another scope"):
        sch.merge(sch.get_loops("A")[0], sch.get_loops("B")[0])


def test_bounds_may_depend_on_merged_loops():
    @T.prim_func
    def triangles(A: T.Buffer((6, 6), "float32"), B: T.Buffer((6, 6), "float32")):
        for i in range(6):
            for j in range(i + 1):
                with T.block("A"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(6, j)
                    A[vi, vj] = T.float32(1)
        for i in range(6):
            for j in range(i + 1):
                with T.block("B"):
                    vi = T.axis.spatial(6, i)
                    vj = T.axis.spatial(6, j)
                    B[vi, vj] = A[vi, vj]

    sch = Schedule(triangles, debug_mask="all")
    sch.merge(sch.get_loops("A")[1], sch.get_loops("B")[1])
    assert_same_meaning(triangles, sch)
