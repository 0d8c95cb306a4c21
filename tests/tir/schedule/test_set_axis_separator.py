"""Choosing into how many physical dimensions a buffer is flattened."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 6))
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def after(A: T.Buffer((4, 6), "float32", axis_separators=[1]), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 6), axis_separators=[1])
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@pytest.mark.parametrize("reference", [("write", 0), "B"])
def test_parameters_and_allocated_buffers(reference):
    sch = Schedule(before, debug_mask="all")
    sch.set_axis_separator("B", reference, [1])
    sch.set_axis_separator("B", ("read", 0), [1])
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], after)
    assert_same_meaning(before, sch)


def test_none_removes_them():
    sch = Schedule(after, debug_mask="all")
    sch.set_axis_separator("B", ("write", 0), None)
    sch.set_axis_separator("B", after.buffer_map[after.params[0]], [])
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], before)


@pytest.mark.parametrize("separators", [[0], [2], [1, 1], [-1], ["x"], [1.0]])
def test_wrong_separators(separators):
    with pytest.raises(ScheduleError, match="separators of `B` must ascend between 1 and 1"):
        Schedule(before).set_axis_separator("B", ("write", 0), separators)


def test_wrong_references():
    sch = Schedule(before)
    with pytest.raises(ScheduleError, match="separators are a list of dimensions, got 1"):
        sch.set_axis_separator("B", ("write", 0), 1)
    with pytest.raises(ScheduleError, match=r"`B` reads 1 buffers, so there is none of index 1"):
        sch.set_axis_separator("B", ("read", 1), [1])
    with pytest.raises(ScheduleError, match=r"a buffer is given as \(.read., index\)"):
        sch.set_axis_separator("B", ("update", 0), [1])
    with pytest.raises(ScheduleError, match="a buffer is given as"):
        sch.set_axis_separator("B", 0, [1])
    with pytest.raises(ScheduleError, match="`B` accesses no buffer of the name `C`"):
        sch.set_axis_separator("B", "C", [1])


@T.prim_func
def viewed(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi, 0:6])
            T.writes(C[vi, 0:6])
            V = T.match_buffer(A[vi, 0:6], (1, 6))
            for j in range(6):
                with T.block("inner"):
                    vj = T.axis.spatial(6, j)
                    C[vi, vj] = V[0, vj]


def test_views_are_refused():
    sch = Schedule(viewed)
    with pytest.raises(ScheduleError, match="`V` is a view of `A` made by match_buffer, which"):
        sch.set_axis_separator("C", ("read", 0), [1])
    with pytest.raises(ScheduleError, match="`V` is a view of `A` made by match_buffer"):
        sch.set_axis_separator("inner", ("read", 0), [1])
