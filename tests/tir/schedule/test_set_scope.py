"""Choosing where a buffer lives."""

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
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.reads(B[vi, 0:6])
            T.writes(C[vi, 0:6])
            V = T.match_buffer(B[vi, 0:6], (6,))
            for j in range(6):
                C[vi, j] = V[j] + T.float32(1)


@T.prim_func
def after(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 6), scope="shared")
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.reads(B[vi, 0:6])
            T.writes(C[vi, 0:6])
            V = T.match_buffer(B[vi, 0:6], (6,), scope="shared")
            for j in range(6):
                C[vi, j] = V[j] + T.float32(1)


def test_the_buffer_and_its_views_move():
    sch = Schedule(before, debug_mask="all")
    sch.set_scope("B", 0, "shared")
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], after)
    assert_same_meaning(before, sch)


def test_a_buffer_that_is_there_already():
    sch = Schedule(before)
    unchanged = sch.mod["main"]
    sch.set_scope("B", "B", "global")
    assert sch.mod["main"] is unchanged


def test_refusals():
    sch = Schedule(before)
    with pytest.raises(ScheduleError, match="`C` is not allocated by a block of `main`"):
        sch.set_scope("C", 0, "shared")
    with pytest.raises(ScheduleError, match="there is no storage scope 'nowhere'"):
        sch.set_scope("B", 0, "nowhere")
    with pytest.raises(ScheduleError, match="none of index 2"):
        sch.set_scope("B", 2, "shared")
