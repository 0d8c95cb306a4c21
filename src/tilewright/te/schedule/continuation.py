"""What a trace of `tir.Schedule` does to the program of a schedule of tensors.

A schedule of tensors plans loops, and makes its program when it is lowered. From there a schedule
of blocks can go on: its steps change that program, and each is proved.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tilewright.error import ArgumentError, TEScheduleError, TVMError
from tilewright.ir.module import IRModule
from tilewright.te.schedule.primitive import CONTINUE
from tilewright.tir.function import PrimFunc


class Continuation(NamedTuple):
    """Traces that are applied to the program of a schedule.

    Attributes:
        traces: in their JSON form, as text, in the order in which they are applied.
        is_of_stages: whether stages had been transformed before. If not, the program is the one of
            `te.create_prim_func`.
    """

    traces: tuple[str, ...]
    is_of_stages: bool

    def followed_by(self, trace: str) -> Continuation:
        """These traces, then another one."""
        return self._replace(traces=(*self.traces, trace))


def text_of(trace: Any) -> str:
    """A trace of a `tir.Schedule` as JSON.

    Args:
        trace: the trace, or its JSON form, as lists or as text.

    Raises:
        ArgumentError: for anything else.
    """
    form: Any = trace
    if getattr(trace, "package", None) == "tir":
        form = trace.as_json()
    elif isinstance(trace, str):
        try:
            form = json.loads(trace)
        except ValueError:
            form = None
    if not (isinstance(form, (list, tuple)) and len(form) == 2):
        raise ArgumentError(
            f"{CONTINUE}: expected the trace of a tir.Schedule, or its JSON form, got {trace!r}"
        )
    return json.dumps(form, separators=(",", ":"))


def continued(func: PrimFunc, continuation: Continuation) -> PrimFunc:
    """A program with the traces of a continuation applied.

    Raises:
        TEScheduleError: if one does not apply.
    """
    # Schedules of blocks take long to load, and few schedules of tensors go on as one.
    from tilewright.schedule_rules.eligible import marked_as_scheduled
    from tilewright.tir.schedule import Schedule, Trace
    from tilewright.tir.schedule.traces.renaming import about

    (name,) = (var.name_hint for var in IRModule.from_expr(func).functions)
    sch = Schedule(marked_as_scheduled(IRModule({name: func})), error_render_level="fast")
    for text in continuation.traces:
        try:
            Trace.apply_json_to_schedule(about(json.loads(text), name), sch)
        except (TVMError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise TEScheduleError(
                f"{CONTINUE}: the trace does not apply to the program of this schedule: {error}"
            ) from error
    return sch.mod[name]
