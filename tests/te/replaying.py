"""Replaying the trace of a schedule on a fresh one, in all the forms that a trace has."""

from __future__ import annotations

import json

import pytest

from tilewright import te, tir
from tilewright.error import ArgumentValueError, TEScheduleError, TVMError
from tilewright.ir.rewrite import rewrite
from tilewright.ir.structural import assert_structural_equal
from tilewright.tir import ScheduleError


def fresh(schedule):
    """A schedule of the same tensors, to which nothing has been done."""
    return te.create_schedule([schedule.stage_map[op].origin_op for op in schedule.outputs])


def replays(schedule):
    """Schedules that repeat what has been done to one: steps, the Python text, and JSON."""
    trace = schedule.trace
    found = [fresh(schedule)]
    trace.apply_to_schedule(found[0])
    try:
        form = json.loads(json.dumps(trace.as_json()))
    except ArgumentValueError:  # an intrinsic without a name, or a variable that is in no shape
        return found
    for apply in (as_python(trace), lambda s: trace.apply_json_to_schedule(form, s)):
        found.append(fresh(schedule))
        apply(found[-1])
    return found


def as_python(trace):
    """The function that the text of a trace defines."""
    names = {"te": te, "tir": tir}
    exec(str(trace), names)
    return names["apply_trace"]


def check_replays(schedule, lower):
    """Require that traces give the same function, or the same refusal.

    Args:
        schedule: the schedule.
        lower: from a schedule and what stands for its tensors to a function.
    """
    text = str(schedule.trace)
    others = replays(schedule)
    for other in others:
        assert str(other.trace) == text
    other = others[-1]
    twins = {
        tensor: twin
        for stage, same in zip(schedule.stages, other.stages, strict=True)
        for tensor, twin in zip(stage.op.outputs, same.op.outputs, strict=True)
        if tensor.op not in other.stage_map
    }
    expected, found = outcome(lower, schedule, {}), outcome(lower, other, twins)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert_structural_equal(found, expected)


def check_within(schedule, args, lower):
    """Require that a schedule as a step of a `tir.Schedule` gives the same function, or none.

    Args:
        schedule: the schedule.
        args: the parameters.
        lower: from a schedule and what stands for its tensors to a function.
    """
    if any(arg.op not in fresh(schedule).stage_map for arg in args if isinstance(arg, te.Tensor)):
        return  # a copy that the schedule has made
    try:
        sch = tir.Schedule(te.create_prim_func(args))
        te.tensors_of(sch.mod["main"])
        schedule.trace.as_json()
    except TVMError:  # a te.scan, or a trace that cannot be saved
        return
    expected = outcome(lower, schedule, {})
    if isinstance(expected, str):
        with pytest.raises(TVMError):
            schedule.apply_to(sch)
        return
    try:
        schedule.apply_to(sch)
    except (TEScheduleError, ScheduleError) as error:
        reasons = (
            "is a parameter, whose layout is given",
            "it is an output, which is computed at the root",  # also if others read it
            "does not hold that",
            "it is not known whether that gives the same result",  # by a reducer of a user
        )
        assert any(reason in str(error) for reason in reasons)  # noqa: PT017
        return
    made, wanted = (without_regions(func.body) for func in (sch.mod["main"], expected))
    assert_structural_equal(made, wanted, map_free_vars=True)
    form = json.loads(json.dumps(sch.trace.as_json()))
    again = tir.Schedule(te.create_prim_func(args))
    tir.Trace.apply_json_to_schedule(form, again)
    assert_structural_equal(again.mod, sch.mod)
    text = tir.Schedule(te.create_prim_func(args))
    as_python(sch.trace)(text)
    assert str(text.trace) == str(sch.trace)
    found, own = te.Schedule.from_trace(sch, args)
    assert_structural_equal(lower(found, {}), expected)
    assert own == list(args)


def without_regions(body):
    """A body without what its blocks declare to read and to write."""
    return rewrite(body, {tir.Block: lambda block: block.replace(reads=(), writes=())})


def outcome(lower, schedule, twins):
    """The function, or what the refusal says."""
    try:
        return lower(schedule, twins)
    except TVMError as error:
        return str(error)
