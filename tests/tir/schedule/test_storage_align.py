"""Padding the rows of a buffer."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def steps(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.alloc_buffer((4, 6))
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


def alignments(sch):
    value = sch.get(sch.get_block("B")).annotations["buffer_dim_align"]
    return [[number.value for number in item] for item in value]


def test_alignments_are_added_and_replaced():
    sch = Schedule(steps, debug_mask="all")
    sch.storage_align("B", 0, axis=0, factor=8, offset=1)
    assert alignments(sch) == [[0, 0, 8, 1]]
    sch.storage_align("B", "B", axis=-1, factor=4, offset=0)
    sch.storage_align("B", 0, axis=0, factor=16, offset=3)
    assert alignments(sch) == [[0, 1, 4, 0], [0, 0, 16, 3]]
    assert_same_meaning(steps, sch)


def test_sampled_numbers():
    sch = Schedule(steps)
    factor = sch.sample_categorical([8, 16], [0.5, 0.5], decision=1)
    sch.storage_align("B", 0, 0, factor, factor - 15)
    assert alignments(sch) == [[0, 0, 16, 1]]


def test_other_annotations_are_kept():
    sch = Schedule(steps)
    sch.annotate("B", "kind", "map")
    sch.storage_align("B", 0, 0, 8, 1)
    assert set(sch.get(sch.get_block("B")).annotations) == {"kind", "buffer_dim_align"}


def test_refusals():
    sch = Schedule(steps)
    with pytest.raises(ScheduleError, match="`C` is not allocated by a block"):
        sch.storage_align("C", 0, 0, 8, 1)
    for axis in (2, -3):
        with pytest.raises(
            ScheduleError, match=f"`B` has 2 dimensions, so there is no axis {axis}"
        ):
            sch.storage_align("B", 0, axis, 8, 1)
    with pytest.raises(ScheduleError, match="the factor must be positive, got 0"):
        sch.storage_align("B", 0, 0, 0, 1)
    with pytest.raises(ScheduleError, match="none of index 1"):
        sch.storage_align("B", 1, 0, 8, 1)


@pytest.mark.parametrize("value", [7, [[0, 0, 8]], [[0, 0, 8, "x"]], "x", [3]])
def test_an_annotation_of_another_form(value):
    sch = Schedule(steps)
    sch.annotate("B", "buffer_dim_align", value)
    with pytest.raises(ScheduleError, match=r"is not a list of .buffer, axis, factor, offset."):
        sch.storage_align("B", 0, 0, 8, 1)
