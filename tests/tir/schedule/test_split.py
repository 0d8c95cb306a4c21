"""Splitting loops."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning, assert_would_be_wrong
from tests.tir.schedule.loop_programs import elementwise, matmul, symbolic, triangle

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def binding(sch, block, number):
    return str(sch.get_sref(sch.get_block(block)).tree.realize(
        sch.get(sch.get_block(block))).iter_values[number])  # fmt: skip


@pytest.mark.parametrize(
    ("factors", "extents"),
    [
        ([5, 2], [5, 2]),
        ([None, 2], [5, 2]),
        ([2, None], [2, 5]),
        ([None, 4], [3, 4]),
        ([3, 4], [3, 4]),
        ([None], [10]),
        ([10, 1], [10, 1]),
        ([1, 10], [1, 10]),
        ([2, None, 2], [2, 3, 2]),
        ([100, None], [100, 1]),
    ],
)
def test_factors(factors, extents):
    sch = Schedule(elementwise, debug_mask="all")
    loops = sch.split(sch.get_loops("B")[0], factors)
    assert [sch.get(loop).extent.value for loop in loops] == extents
    assert_same_meaning(elementwise, sch)


def test_names_and_bindings():
    sch = Schedule(elementwise)
    i0, _ = sch.split(sch.get_loops("B")[0], [5, 2])
    assert binding(sch, "B", 0) == "i_0 * 2 + i_1"
    sch.split(i0, [None, 2])
    assert binding(sch, "B", 0) == "i_0_0 * 4 + i_0_1 * 2 + i_1"
    assert "T.where(i_0_0 * 2 + i_0_1 < 5)" in sch.mod.script()
    assert_same_meaning(elementwise, sch)


def test_unit_loops_stay_in_bindings_if_that_is_wanted():
    sch = Schedule(elementwise)
    sch.split(sch.get_loops("B")[0], [1, 10])
    assert binding(sch, "B", 0) == "i_0 * 10 + i_1"
    sch = Schedule(elementwise)
    sch.split(sch.get_loops("B")[0], [1, 10], preserve_unit_iters=False)
    assert binding(sch, "B", 0) == "i_1"
    assert_same_meaning(elementwise, sch)


def test_a_reduction_with_a_tail():
    sch = Schedule(matmul, debug_mask="all")
    sch.split(sch.get_loops("C")[2], [None, 3])
    sch.split(sch.get_loops("C")[0], [None, 4])
    assert_same_meaning(matmul, sch)


def test_symbolic_extents():
    sch = Schedule(symbolic, debug_mask="all")
    outer, inner = sch.split(sch.get_loops("B")[0], [None, 4])
    assert str(sch.get(outer).extent) == "(n + T.int64(3)) // T.int64(4)"
    assert sch.get(inner).extent.value == 4
    assert_same_meaning(symbolic, sch, sizes={"n": 7})
    with pytest.raises(ScheduleError, match="the extent of loop `i_0` is symbolic"):
        sch.split(outer, [2, 4])


def test_bounds_of_loops_inside_follow():
    sch = Schedule(triangle, debug_mask="all")
    sch.split(sch.get_loops("B")[0], [None, 4])
    assert_same_meaning(triangle, sch)


def test_a_loop_that_does_not_start_at_zero():
    @T.prim_func
    def shifted(A: T.Buffer((10,), "float32")):
        for i in range(3, 9):
            with T.block("A"):
                vi = T.axis.spatial(10, i)
                A[vi] = T.float32(1)

    sch = Schedule(shifted, debug_mask="all")
    sch.split(sch.get_loops("A")[0], [None, 4])
    assert binding(sch, "A", 0) == "i_0 * 4 + i_1 + 3"
    assert_same_meaning(shifted, sch)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([], "needs at least one factor"),
        ([None, None], "only one factor of a split may be None"),
        ([0, None], "the factors must be positive, got 0"),
        ([-2, 5], "the factors must be positive, got -2"),
    ],
)
def test_refused_factors(factors, message):
    sch = Schedule(elementwise)
    with pytest.raises(ScheduleError, match=message):
        sch.split(sch.get_loops("B")[0], factors)


def test_factors_that_leave_iterations_out():
    def steps(sch):
        sch.split(sch.get_loops("B")[0], [3, 3])

    with pytest.raises(ScheduleError, match="the product of the factors, 9, is less") as info:
        steps(Schedule(elementwise))
    assert "the iteration i = 9 would not be executed" in str(info.value)
    assert_would_be_wrong(elementwise, steps)


def test_a_predicate_that_is_not_wanted():
    def steps(sch):
        sch.split(sch.get_loops("B")[0], [3, 4], disable_predication=True)

    with pytest.raises(ScheduleError, match="which needs a predicate") as info:
        steps(Schedule(elementwise))
    assert "3 * 4" in str(info.value)
    assert_would_be_wrong(elementwise, steps)
    sch = Schedule(elementwise)
    sch.split(sch.get_loops("B")[0], [5, 2], disable_predication=True)
    assert_same_meaning(elementwise, sch)


def test_annotations_and_thread_bindings_are_not_lost():
    sch = Schedule(elementwise)
    i, j = sch.get_loops("B")
    sch.annotate(i, "pragma", 1)
    with pytest.raises(ScheduleError, match="has annotations, which would be lost"):
        sch.split(i, [None, 2])
    sch.bind(j, "threadIdx.x")
    with pytest.raises(ScheduleError, match="has a thread binding, which would be lost"):
        sch.split(j, [None, 2])


@T.prim_func
def ragged(
    A: T.Buffer((5, 4), "float32"), n: T.Buffer((5,), "int32"), B: T.Buffer((5, 4), "float32")
):
    for i in range(5):
        for j in range(n[i] % 4):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi, vj]
        for j in range(4):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(n[i] > 0)
                A[vi, vj] = T.float32(1)


def test_what_is_read_for_bounds_and_predicates_is_inside_of_its_buffer():
    sch = Schedule(ragged, debug_mask="all")
    sch.split(sch.get_loops("B")[0], [None, 2])
    assert_same_meaning(ragged, sch)


def test_what_keeps_the_order_leaves_nothing_to_prove(monkeypatch):
    sch = Schedule(matmul)
    i, j, k = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.parallel(j)

    def prove(*_):
        raise AssertionError("something is proved")

    monkeypatch.setattr("tilewright.tir.schedule.schedule.require_kernels", prove)
    monkeypatch.setattr("tilewright.tir.schedule.proofs.legality.require_independent", prove)
    outer, inner = sch.split(k, [None, 3])
    first, second = sch.split(sch.fuse(outer, sch.add_unit_loop(inner)), [2, None])
    with pytest.raises(AssertionError, match="something is proved"):
        sch.reorder(second, first)
    monkeypatch.undo()
    assert_same_meaning(matmul, sch)
