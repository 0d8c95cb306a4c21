"""The instances that compute_at and inlining name are those that would be computed wrongly."""

import numpy as np
import pytest
from tests.tir.schedule.checking import results_of
from tests.tir.schedule.named_instances import (
    assert_differs,
    assert_unwritten,
    counterexample,
    forced,
)

from tilewright.script import tir as T

# --- compute_inline and reverse_compute_inline ----------------------------------------------------


@T.prim_func
def overwritten_between(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * T.float32(2)
    for i in range(5):
        with T.block("over"):
            v = T.axis.spatial(5, i)
            A[v + 3] = T.float32(100)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] + T.float32(1)


def test_an_input_that_is_overwritten_before_the_inlined_value_is_read():
    def step(sch):
        return lambda: sch.compute_inline("B")

    assert counterexample(overwritten_between, step) == (
        "B at (v=3) reads A[3]; then over at (v=0) writes A[3]; then C at (v=3) reads B[3]"
    )
    after = forced(overwritten_between, step)
    assert_differs(overwritten_between, after, "C[3]")
    old, new = results_of(overwritten_between), results_of(after)
    np.testing.assert_array_equal(old[1][:3], new[1][:3])  # those that are not named are right


@T.prim_func
def half_written(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("zero"):
            v = T.axis.spatial(8, i)
            C[v] = T.float32(0)
    for i in range(5):
        with T.block("B"):
            v = T.axis.spatial(5, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] + T.float32(1)


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: lambda: sch.compute_inline("B"),
        lambda sch: lambda: sch.reverse_compute_inline("C"),
    ],
)
def test_an_element_that_nothing_writes(step):
    line = counterexample(half_written, step)
    assert "C at (v=5) reads B[5], which B never writes" in line
    assert_unwritten(half_written, "B[5]")


@T.prim_func
def updates_itself(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi] = A[vi, vj]
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = B[v]


@T.prim_func
def first_column(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = A[v, 0]


def test_two_instances_that_write_one_element():
    line = counterexample(updates_itself, lambda sch: lambda: sch.compute_inline("B"))
    assert line == "(vi=0, vj=0) and (vi=0, vj=1) both give [0]"
    # The value of the one is not that of the other.
    assert_differs(updates_itself, first_column, "C[0]")


@T.prim_func
def read_between(
    A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")
):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(6):
        with T.block("D"):
            v = T.axis.spatial(6, i)
            D[v] = C[v + 2]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] * T.float32(100) + T.float32(1)


def test_what_runs_between_a_producer_and_the_block_that_joins_it():
    def step(sch):
        return lambda: sch.reverse_compute_inline("C")

    assert counterexample(read_between, step) == (
        "B at (v=2) writes B[2]; then D at (v=0) reads C[2]; then C at (v=2) writes C[2]"
    )
    assert_differs(read_between, forced(read_between, step), "D[0]")


@T.prim_func
def padded(A: T.Buffer((2,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((2,), "float32")
    for i in range(2):
        with T.block("B"):
            v = T.axis.spatial(2, i)
            B[v] = A[v] * T.float32(2)
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = T.if_then_else(v >= 1 and v < 3, B[v - 1], T.float32(77))


def test_an_instance_that_reads_nothing_would_be_lost():
    def step(sch):
        return lambda: sch.reverse_compute_inline("C")

    line = counterexample(padded, step)
    assert line == "C at (v=0) reads no element of B that B writes"
    assert_differs(padded, forced(padded, step), "C[0]")


@T.prim_func
def part_of_the_domain(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * T.float32(100) + T.float32(1)
    for i in range(5):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]


def test_an_instance_that_does_not_run_would_run():
    def step(sch):
        return lambda: sch.reverse_compute_inline("C")

    assert counterexample(part_of_the_domain, step) == "C at (v=5) does not run"
    assert_differs(part_of_the_domain, forced(part_of_the_domain, step), "C[5]")


# --- compute_at and reverse_compute_at ------------------------------------------------------------


@T.prim_func
def blur(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((10,), "float32")
    for i in range(10):
        with T.block("B"):
            v = T.axis.spatial(10, i)
            B[v] = A[v] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] + B[v + 2]
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = B[v + 1]


def test_a_reader_before_the_loop_that_would_compute_what_it_reads():
    def step(sch):
        (loop,) = sch.get_loops("D")
        return lambda: sch.compute_at("B", loop)

    line = counterexample(blur, step)
    assert line == "afterwards, C at (v=0) reads B[0], which B never writes"
    assert_unwritten(forced(blur, step), "B[0]")


def test_an_input_that_is_overwritten_before_the_new_place():
    def step(sch):
        (loop,) = sch.get_loops("C")
        return lambda: sch.compute_at("B", loop)

    line = counterexample(overwritten_between, step)
    assert line == "A[3]: read by B at (v=3) after it is written by over at (v=0)"
    assert_differs(overwritten_between, forced(overwritten_between, step), "C[3]")


@T.prim_func
def sums(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = B[v] * B[v]


@T.prim_func
def sums_used_too_early(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i, k in T.grid(4, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
        with T.block("C"):
            v = T.axis.spatial(4, i)
            T.where(k == 0)
            C[v] = B[v] * B[v]


def test_a_sum_that_would_be_used_before_it_is_complete():
    line = counterexample(
        sums, lambda sch: lambda: sch.reverse_compute_at("C", sch.get_loops("B")[1])
    )
    assert line == "C at (v=0) is executed twice: in iterations (i=0, k=0) and (i=0, k=1)"
    assert_differs(sums, sums_used_too_early, "C[0]")
