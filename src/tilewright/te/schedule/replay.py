"""Applying a step of a trace to a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import UnknownNameError
from tilewright.te.reducer import thread_axis
from tilewright.te.schedule.primitive import PRIMITIVES, STAGE

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule

SAMPLINGS: Final = ("sample_perfect_tile", "sample_categorical")

PREFIX: Final = "te."
"""In front of the names of steps that schedules of blocks do not have, or have in another form."""


def apply(schedule: Schedule, name: str, arguments: Mapping[str, Any], decision: Any) -> Any:
    """See `Schedule.apply`; what returns several values returns a list."""
    if name in SAMPLINGS:
        return getattr(schedule, name)(**{**arguments, "decision": decision})
    if name == f"{PREFIX}thread_axis":
        return thread_axis(**arguments)
    primitive = PRIMITIVES.get(name.removeprefix(PREFIX))
    if primitive is None or not name.startswith(PREFIX):
        raise UnknownNameError(f"a te.Schedule has no step {name!r}")
    given = dict(arguments)
    for parameter in primitive.parameters:
        if parameter.annotation == "Stage":
            given[parameter.name] = schedule[given[parameter.name]]
    owner = schedule[given.pop(STAGE)] if primitive.is_on_stage else schedule
    result = primitive.call(owner, given)
    return list(result) if isinstance(result, tuple) else result
