"""Loops of one iteration."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def double(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] * T.float32(2)


@T.prim_func
def with_unit_loops(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for _u in range(1):
        for i in range(6):
            for _u_1 in range(1):
                with T.block("B"):
                    vi = T.axis.spatial(6, i)
                    B[vi] = A[vi] * T.float32(2)


@T.prim_func
def scalar(B: T.Buffer((), "float32")):
    with T.block("root"), T.block("B"):
        B[()] = T.float32(2)


def test_unit_loops_around_a_loop_and_a_block():
    sch = Schedule(double, debug_mask="all")
    (loop,) = sch.get_loops("B")
    outer = sch.add_unit_loop(loop)
    inner = sch.add_unit_loop("B")
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], with_unit_loops)
    assert sch.get(outer).loop_var.name == "u"
    found = [sch.get(rv) for rv in sch.get_loops("B")]
    assert all(a is sch.get(b) for a, b in zip(found, [outer, loop, inner], strict=True))
    assert_same_meaning(double, sch)


def test_a_unit_loop_around_a_block_without_loops():
    sch = Schedule(scalar, debug_mask="all")
    loop = sch.add_unit_loop("B")
    assert sch.get(loop).extent.value == 1
    assert len(sch.get_loops("B")) == 1
    assert_same_meaning(scalar, sch)


def test_the_root_block_has_no_loop_around_it():
    sch = Schedule(double)
    with pytest.raises(ScheduleError, match="add_unit_loop: block `root` is the root block"):
        sch.add_unit_loop("root")
