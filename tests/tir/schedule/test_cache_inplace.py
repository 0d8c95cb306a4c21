"""Updating a buffer through a copy of it."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def scheduled(func):
    return Schedule(func, debug_mask="all")


@T.prim_func
def updated(A: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A[v] = A[v] + T.float32(1)


@T.prim_func
def updated_cached(A: T.Buffer((6,), "float32")):
    A_local = T.alloc_buffer((6,), scope="local")
    for ax0 in range(6):
        with T.block("A_local"):
            v0 = T.axis.spatial(6, ax0)
            A_local[v0] = A[v0]
    for i in range(6):
        with T.block("A"):
            v = T.axis.spatial(6, i)
            A_local[v] = A_local[v] + T.float32(1)
    for ax0 in range(6):
        with T.block("A_local"):
            v0 = T.axis.spatial(6, ax0)
            A[v0] = A_local[v0]


def test_it_is_copied_and_copied_back():
    sch = scheduled(updated)
    copy, back = sch.cache_inplace("A", 0, "local")
    assert [sch.get(b).writes[0].buffer.name for b in (copy, back)] == ["A_local", "A"]
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], updated_cached)
    assert_same_meaning(updated, sch)


@T.prim_func
def sums(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(3):
        for j in range(2):
            with T.block("A"):
                v = T.axis.spatial(8, i * 2 + j)
                T.reads(A[v : v + 2])
                T.writes(A[v + 1])
                if A[v] > T.float32(0):
                    A[v + 1] = A[v] + A[v + 1]
        for j in range(2):
            with T.block("B"):
                v = T.axis.spatial(8, i * 2 + j)
                B[v] = A[v]


def test_values_flow_between_instances_and_gaps_are_kept():
    sch = scheduled(sums)
    copy, _ = sch.cache_inplace("A", "A", "global")
    assert [sch.get(loop).extent.value for loop in sch.get_loops(copy)] == [3, 3]
    assert_same_meaning(sums, sch)


@T.prim_func
def in_parallel(A: T.Buffer((3, 5), "float32")):
    for i in T.parallel(3):
        for j in range(5):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(5):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(2)


def test_parallel_iterations_that_write_all_that_is_copied_back():
    sch = scheduled(in_parallel)
    sch.cache_inplace("A", 0, "global")
    assert_same_meaning(in_parallel, sch)


@T.prim_func
def every_other(A: T.Buffer((2, 6), "float32")):
    for i in T.parallel(2):
        for j in range(3):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[0, vj * 2 + vi] = A[0, vj * 2 + vi] + T.float32(1)
        for j in range(3):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[0, vj * 2 + vi] = A[0, vj * 2 + vi] * T.float32(2)


def test_parallel_iterations_that_would_undo_each_other():
    with pytest.raises(ScheduleError, match="run at once, and block `A` may not write all"):
        scheduled(every_other).cache_inplace("A", 0, "global")


def test_refusals():
    with pytest.raises(ScheduleError, match="`B` reads `A` and does not write it"):
        scheduled(sums).cache_inplace("B", 0, "global")
    with pytest.raises(ScheduleError, match="none of index 1"):
        scheduled(updated).cache_inplace("A", 1, "global")
    with pytest.raises(ScheduleError, match="there is no storage scope"):
        scheduled(updated).cache_inplace("A", 0, "globe")
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        scheduled(updated).cache_inplace("root", 0, "global")
