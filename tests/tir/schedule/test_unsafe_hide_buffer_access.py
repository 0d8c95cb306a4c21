"""Hiding what a block accesses."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] + B[vi]


def regions(sch):
    block = sch.get(sch.get_block("C"))
    return [r.buffer.name for r in block.reads], [r.buffer.name for r in block.writes]


def test_regions_are_hidden():
    sch = Schedule(add, debug_mask="all")
    sch.unsafe_hide_buffer_access("C", "read", [0])
    assert regions(sch) == (["B"], ["C"])
    assert_same_meaning(add, sch)
    sch.unsafe_hide_buffer_access("C", "write", [0])
    sch.unsafe_hide_buffer_access("C", "read", [])
    assert regions(sch) == (["B"], [])


def test_what_is_not_there_is_refused():
    sch = Schedule(add)
    with pytest.raises(ScheduleError, match='buf_type is "read" or "write", got \'both\''):
        sch.unsafe_hide_buffer_access("C", "both", [0])
    for position in (2, -1):
        with pytest.raises(ScheduleError, match=f"there is none of index {position}"):
            sch.unsafe_hide_buffer_access("C", "read", [position])
