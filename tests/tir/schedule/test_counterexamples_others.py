"""The instances that other primitives name are those that would go wrong."""

import re

import pytest
from tests.tir.schedule.checking import results_of
from tests.tir.schedule.named_instances import (
    assert_differs,
    counterexample,
    forced,
)

from tilewright.script import tir as T
from tilewright.tir import IndexMap, ScheduleError

# --- decompose_reduction, rfactor -----------------------------------------------------------------


@T.prim_func
def used_before(
    A: T.Buffer((4, 3), "float32"), D: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
):
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = C[3 - v]
        for k in range(3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk] * T.float32(100)


def test_an_old_value_that_the_init_would_overwrite():
    def step(sch):
        return lambda: sch.decompose_reduction("C", sch.get_loops("C")[0])

    line = counterexample(used_before, step)
    assert line == "D at (v=0) reads C[3]; then C at (vi=3, vk=0) writes C[3]"
    assert_differs(used_before, forced(used_before, step), "D[0]")


@T.prim_func
def backwards(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(3, 2 - k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] * T.float32(100)


def test_an_init_that_runs_last():
    def step(sch):
        return lambda: sch.decompose_reduction("C", sch.get_loops("C")[0])

    line = counterexample(backwards, step)
    assert line == (
        "C at (vi=0, vk=2) in iteration (i=0, k=0) updates C[0]; then C at (vi=0, vk=0) in "
        "iteration (i=0, k=2) initialises it"
    )
    assert_differs(backwards, forced(backwards, step), "C[0]")


@T.prim_func
def chained(A: T.Buffer((4, 3), "float32"), C: T.Buffer((5,), "float32")):
    for i, k in T.grid(4, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi + 1] = T.float32(0)
            C[vi + 1] = C[vi + 1] + C[vi] + A[vi, vk] + T.float32(100)


def test_a_sum_of_other_sums():
    def step(sch):
        return lambda: sch.decompose_reduction("C", sch.get_loops("C")[0])

    line = counterexample(chained, step)
    assert line == "C at (vi=1, vk=0) reads C[1], which C at (vi=0, vk=0) writes"


@T.prim_func
def repeated(A: T.Buffer((4, 3), "float32"), C: T.Buffer((4,), "float32")):
    for _t, i, k in T.grid(2, 4, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk] + T.float32(100)


def test_a_loop_that_repeats_a_sum():
    def step(sch):
        return lambda: sch.decompose_reduction("C", sch.get_loops("C")[0])

    line = counterexample(repeated, step)
    assert line == "C at (vi=0, vk=0) runs in iterations (_t=0, i=0, k=0) and (_t=1, i=0, k=0)"
    assert_differs(repeated, forced(repeated, step), "C[0]")


@T.prim_func
def shared_elements(A: T.Buffer((6,), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(6):
        with T.block("pad"):
            v = T.axis.spatial(6, i)
            B[v // 2] = T.if_then_else(v % 2 == 0, A[v], T.float32(77))


def test_a_padding_that_would_come_first():
    def step(sch):
        return lambda: sch.decompose_padding("pad", sch.get_loops("pad")[0])

    assert counterexample(shared_elements, step) == "(v=0) and (v=1) both give [0]"
    assert_differs(shared_elements, forced(shared_elements, step), "B[0]")


# --- rolling_buffer, add_guard --------------------------------------------------------------------


@T.prim_func
def far_back(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((10,), "float32")
    for i in range(4):
        for a in range(4):
            with T.block("B"):
                v = T.axis.spatial(10, i * 2 + a)
                B[v] = A[v] + T.cast(v, "float32") * T.float32(100)
        for b in range(2):
            with T.block("C"):
                v = T.axis.spatial(8, i * 2 + b)
                C[v] = B[v // 2]


def test_what_an_earlier_iteration_has_computed():
    def step(sch):
        return lambda: sch.rolling_buffer("B", 0)

    line = counterexample(far_back, step)
    assert line == "C at (v=2) reads B[1], which B does not write before in iteration (i=1)"
    # That one is still there; but what lies further back is not.
    old, new = results_of(far_back)[1], results_of(forced(far_back, step))[1]
    assert (old != new).any()


@T.prim_func
def growing(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i, j in T.grid(4, 3):
        with T.block("B"):
            v = T.axis.spatial(8, i + j * 2)
            T.where(j <= i)
            B[v] = A[v] + T.float32(100)
        with T.block("C"):
            v = T.axis.spatial(4, i)
            T.where(j == 2)
            C[v] = T.if_then_else(v >= 2, B[v + 4], T.float32(0))


def test_an_instance_that_the_guard_would_leave_out():
    def step(sch):
        return lambda: sch.add_guard("B", sch.get_loops("B")[0])

    line = counterexample(growing, step)
    found = re.fullmatch(
        r"B at \(v=(\d)\) would not run in iteration \(i=(\d), j=(\d)\), and has not in the one "
        "before",
        line,
    )
    v, i, j = map(int, found.groups())
    assert v == i + j * 2
    assert j <= i
    assert not any(v == i - 1 + other * 2 and other <= i - 1 for other in range(3))


# --- layouts ------------------------------------------------------------------------------------


@T.prim_func
def copies(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.alloc_buffer((4, 4), "float32")
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: lambda: sch.transform_layout("B", ("write", 0), lambda i, j: (i, j // 2)),
        lambda sch: lambda: sch.transform_block_layout("B", lambda i, j: (i, j // 2)),
    ],
)
def test_elements_that_would_share_a_place(step):
    assert counterexample(copies, step) == "(i=0, j=0) and (i=0, j=1) both give [0, 0]"


def test_places_in_a_cache_that_would_be_shared():
    def step(sch):
        return lambda: sch.reindex_cache_read("C", 0, "local", lambda i, j: (i + j,))

    assert counterexample(copies, step) == "(vi=0, vj=1) and (vi=1, vj=0) both give [1]"


def test_an_inverse_that_is_none():
    wrong = IndexMap.from_func(lambda i, j: (j, i), inverse_index_map=lambda i, j: (i, j))
    line = counterexample(
        copies, lambda sch: lambda: sch.transform_layout("B", ("write", 0), wrong)
    )
    assert line == "(i=0, j=1) becomes [1, 0], and the inverse leads from there to [1, 0]"


def test_a_place_that_no_element_has():
    def step(sch):
        return lambda: sch.transform_layout("C", ("write", 0), lambda i, j: (i // 3, i % 3, j))

    assert counterexample(copies, step) == "nothing is at [1, 1, 0]"


def test_a_place_that_no_instance_has():
    def step(sch):
        return lambda: sch.transform_block_layout("C", lambda i, j: (i, j * 2))

    assert counterexample(copies, step) == "nothing is at [0, 1]"


def test_a_place_before_the_first():
    def step(sch):
        return lambda: sch.transform_block_layout("C", lambda i, j: (i, 2 - j))

    assert counterexample(copies, step) == "(i=0, j=3) gives -1"


def test_an_index_before_the_first():
    def step(sch):
        return lambda: sch.reindex_cache_read("C", 0, "local", lambda i, j: (i, j - i))

    assert counterexample(copies, step) == "(vi=1, vj=0) gives -1"


@T.prim_func
def overwritten_rows(A: T.Buffer((3, 4), "float32"), C: T.Buffer((2, 3, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for r, i in T.grid(2, 3):
        for j in range(4):
            with T.block("B"):
                vi = T.axis.spatial(3, i)
                vj = T.axis.spatial(4, j)
                B[vj] = A[vi, vj] + T.float32(100) * T.cast(vi, "float32")
        for j in range(4):
            with T.block("C"):
                vr = T.axis.spatial(2, r)
                vi = T.axis.spatial(3, i)
                vj = T.axis.spatial(4, j)
                C[vr, vi, vj] = B[vj]


def test_a_guard_of_elements_that_are_written_again():
    def step(sch):
        return lambda: sch.add_guard("B", sch.get_loops("B")[0])

    line = counterexample(overwritten_rows, step)
    assert line == "B at (vi=0, vj=0) writes B[0]; then B at (vi=1, vj=0) writes B[0]"
    # When B[0] of the first row is needed again, it is that of another one.
    assert_differs(overwritten_rows, forced(overwritten_rows, step), "C[1, 0, 0]")


def test_a_tile_of_a_sum_that_starts_last():
    line = counterexample(backwards, lambda sch: lambda: sch.blockize(sch.get_loops("C")[1]))
    assert line == (
        "C at (vi=0, vk=2) in iteration (i=0, k=0) updates C[0]; then C at (vi=0, vk=0) in "
        "iteration (i=0, k=2) initialises it"
    )


# --- the program that a primitive would make ------------------------------------------------------


def test_a_counterexample_in_the_program_after_is_looked_for_when_it_is_shown():
    asked = []

    def attempt():
        asked.append("attempt")
        return "after"

    def find(before, after):
        return f"{before} and {after}"

    def refusal(attempt):
        return ScheduleError("no", afterwards=find).raised_by("split", "before", "detail", attempt)

    error = refusal(attempt)
    assert asked == []
    assert error.counterexample == "before and after"
    assert error.counterexample == "before and after"
    assert asked == ["attempt"]
    assert refusal(None).counterexample is None


def test_a_primitive_that_cannot_be_forced_has_no_program_after():
    def attempt():
        raise ScheduleError("not without proofs either")

    error = ScheduleError("no", afterwards=lambda before, after: "never")
    assert error.raised_by("split", "before", "detail", attempt).counterexample is None
