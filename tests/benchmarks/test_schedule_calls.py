"""The calls of schedule primitives that are measured are as they claim to be."""

import pytest
from benchmarks.compiler.schedule_calls import CALLS, REFUSED, register
from benchmarks.compiler.schedule_programs import PROGRAMS, conv2d
from benchmarks.compiler.schedules import scheduled_conv2d

from tilewright.ir.structural import assert_structural_equal
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.schedule.primitive import PRIMITIVES

register()
NAME = "{0.primitive}-{0.program}".format
UNMEASURED = {"cache_inplace", "enter_postproc", "get_child_blocks", "get_output_blocks",
              "get_producers", "shift_zero_point", "unannotate"}  # fmt: skip
"""Primitives that do not apply to the programs, or do next to nothing."""


def make(call):
    sch = PROGRAMS[call.program]()
    arguments = call.prepare(sch)
    return lambda: getattr(sch, call.primitive)(*arguments)


def test_every_primitive_is_measured():
    assert {call.primitive for call in CALLS} == set(PRIMITIVES) - UNMEASURED


@pytest.mark.parametrize("call", CALLS, ids=map(NAME, CALLS))
def test_calls_are_accepted(call):
    make(call)()


@pytest.mark.parametrize("call", REFUSED, ids=map(NAME, REFUSED))
def test_calls_are_refused(call):
    apply = make(call)
    with pytest.raises(ScheduleError, match=r"dependence|depends"):
        apply()


def test_the_trace_has_30_steps_and_replays_without_proofs():
    proved = scheduled_conv2d()
    assert len(proved.trace) == 30
    replayed = Schedule(conv2d, enable_check=False)
    proved.trace.apply_to_schedule(replayed)
    assert_structural_equal(proved.mod, replayed.mod)
