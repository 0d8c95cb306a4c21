"""Schedules of one program for others with the same main block."""

from __future__ import annotations

import pytest
from tilewright.meta_schedule.trace_apply import schedule_using_anchor_trace

from tilewright import meta_schedule as ms
from tilewright import te
from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.te import create_prim_func
from tilewright.tir.interpreter.program import first_difference
from tilewright.tir.schedule import Schedule


def matmul(scale_before=False, relu_behind=False):
    a, b = te.placeholder((4, 6), name="A"), te.placeholder((6, 8), name="B")
    left = te.compute((4, 6), lambda i, k: a[i, k] * 2.0, name="scaled") if scale_before else a
    k = te.reduce_axis((0, 6), name="k")
    c = te.compute((4, 8), lambda i, j: te.sum(left[i, k] * b[k, j], k), name="C")
    if relu_behind:
        c = te.compute((4, 8), lambda i, j: te.max(c[i, j], 0.0), name="relu")
    return create_prim_func([a, b, c])


@pytest.fixture
def trace():
    sch = Schedule(matmul())
    i, j, k = sch.get_loops(sch.get_block("C"))
    j0, j1 = sch.split(j, [None, 4])
    sch.reorder(i, j0, k, j1)
    sch.vectorize(j1)
    return sch.trace


@pytest.mark.parametrize("scale_before", [False, True])
@pytest.mark.parametrize("relu_behind", [False, True])
def test_the_steps_of_the_main_block(trace, scale_before, relu_behind):
    func = matmul(scale_before, relu_behind)
    sch = Schedule(func)
    schedule_using_anchor_trace(sch, trace, "llvm")
    loops = [sch.get(loop) for loop in sch.get_loops(sch.get_block("C"))]
    assert [int(loop.extent) for loop in loops] == [4, 2, 6, 4]
    blocks = [sch.get(block).name_hint for block in sch.get_child_blocks(sch.get_block("root"))]
    assert "scaled" not in blocks
    assert first_difference(func, sch.mod["main"]) is None


def test_wrong_arguments(trace):
    with pytest.raises(ArgumentError, match="expected a Trace, got 3"):
        schedule_using_anchor_trace(Schedule(matmul()), 3)
    two = IRModule({"a": matmul(), "b": matmul()})
    with pytest.raises(ArgumentError, match=r"choose one of the functions \['a', 'b'\]"):
        schedule_using_anchor_trace(Schedule(two), trace)
    assert ms.trace_apply.schedule_using_anchor_trace is schedule_using_anchor_trace
