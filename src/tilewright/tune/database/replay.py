"""Applying a recorded trace to a program."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from tilewright.error import RecordError, TVMError
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tir.schedule.traces.instruction_layout import kind_of, layout_of
from tilewright.tir.schedule.traces.trace import Trace


def replayed(trace: Any, mod: IRModule, *, enable_check: bool = True) -> Schedule:
    """A schedule of `mod` with a trace applied.

    Args:
        trace: in its JSON form.
        mod: the program. If it has one function, the trace is about that one, whatever it was
            called where the trace was made.
        enable_check: prove that each step keeps the program's meaning.

    Raises:
        RecordError: if the trace does not apply.
    """
    start = marked_as_scheduled(mod)
    sch = Schedule(start, enable_check=enable_check, error_render_level="fast")
    names = [var.name_hint for var, func in mod.functions.items() if isinstance(func, PrimFunc)]
    apply_trace(trace, sch, names[0] if len(names) == 1 else None)
    return sch


def apply_trace(trace: Any, sch: Schedule, func_name: str | None = None) -> None:
    """Apply a trace to a schedule.

    Args:
        trace: in its JSON form.
        sch: the schedule.
        func_name: the function that the trace is about here; None for those that it names.

    Raises:
        RecordError: if it does not apply.
    """
    try:
        form = trace if func_name is None else about(trace, func_name)
        Trace.apply_json_to_schedule(form, sch)
    except (TVMError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise RecordError(f"the trace of a record does not apply: {error}") from error


def replayed_where_possible(trace: Trace, mod: IRModule) -> Schedule:
    """A schedule of `mod` with those steps of a trace applied that apply to it.

    For a program that has the main block in common with the one that the trace was made on. Each
    step is proved to keep the program's meaning, so leaving some out does, too.
    """
    sch = Schedule(marked_as_scheduled(mod), error_render_level="none")
    apply_where_possible(trace, sch)
    return sch


def apply_where_possible(trace: Trace, sch: Schedule) -> None:
    """Apply those steps of a trace that apply to a schedule; each one proves that it may."""
    values: dict[Any, Any] = {}
    for inst in trace:
        if any(variable not in values for variable in inst.uses()):
            continue
        with contextlib.suppress(TVMError):
            arguments = inst.map_arguments(values)
            outputs = sch.apply(inst.kind.name, arguments, trace.get_decision(inst))
            inst.note_outputs(outputs, values)


def about(trace: Any, func_name: str) -> Any:
    """A trace in its JSON form, made to be about the function `func_name`."""
    instructions, decisions = trace
    return [[_renamed(item, func_name) for item in instructions], decisions]


def _renamed(item: Any, func_name: str) -> Any:
    name, inputs, attrs, outputs = item
    names = layout_of(kind_of(name)).attrs
    if "func_name" not in names:
        return item
    values: Mapping[str, Any] = {**dict(zip(names, attrs, strict=False)), "func_name": func_name}
    return [name, inputs, [values.get(name) for name in names], outputs]
