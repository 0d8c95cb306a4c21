"""Buffers of which blocks and threads of a GPU have their own."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright.script import from_source
from tilewright.tir import Schedule, ScheduleError


def two_steps(scope, index="vj", where="True"):
    """A row of a buffer is filled and read by each iteration of i."""
    return from_source(
        f"""
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((6,), scope="{scope}")
    for i in range(4):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where({where})
                B[vj] = A[vi, vj]
        for j in range(6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[{index}]
"""
    )


def bound(func, axis):
    sch = Schedule(func, debug_mask="all")
    sch.bind(sch.get_loops("B")[0], axis)
    assert_same_meaning(func, sch)


def refused(func, axis):
    sch = Schedule(func)
    with pytest.raises(ScheduleError, match="cannot run by threads: one depends on another one"):
        sch.bind(sch.get_loops("B")[0], axis)


def test_each_block_has_its_own_shared_memory_and_each_thread_its_own_local_memory():
    bound(two_steps("shared", index="5 - vj"), "blockIdx.x")
    bound(two_steps("local", index="5 - vj"), "blockIdx.x")
    bound(two_steps("local", index="5 - vj"), "threadIdx.x")


def test_global_memory_is_one():
    refused(two_steps("global", index="vj"), "blockIdx.x")
    refused(two_steps("global", index="vj"), "threadIdx.x")


def test_threads_that_write_different_values_into_shared_memory():
    refused(two_steps("shared", index="vj"), "threadIdx.x")


@pytest.mark.parametrize("axis", ["blockIdx.x", "threadIdx.x"])
def test_an_iteration_that_reads_what_another_one_wrote(axis):
    refused(two_steps("local", where="j > i"), axis)


@pytest.mark.parametrize("axis", ["blockIdx.x", "threadIdx.x"])
def test_a_buffer_that_is_read_outside_of_the_loop(axis):
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,), scope="local")
    for i in range(4):
        for j in range(6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj] = A[vi, vj]
    for j in range(6):
        with T.block("C"):
            vj = T.axis.spatial(6, j)
            C[vj] = B[vj]
"""
    )
    refused(func, axis)
