"""What a database has about a task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import RecordError
from tilewright.tir.schedule import Trace
from tilewright.tune.database.selection import same_machine_code
from tilewright.tune.machine import this_machine
from tilewright.tune.search.sketch import Sketch

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


class EarlierRecords:
    """The records of a task in a database.

    Args:
        database: the database; None for none.
        context: the task.

    Attributes:
        records: those that are for the target, and of this machine.
        best: sketches, traces and times of those that ran, the fastest first; known after
            `adopted_by`.
    """

    def __init__(self, database: Any, context: TuneContext) -> None:
        self.records = [] if database is None else _of_task(database, context)
        self.best: list[tuple[Sketch, Trace, float]] = []

    def adopted_by(self, sketches: Sequence[Sketch]) -> Iterator[tuple[Sketch, Trace]]:
        """The records as traces of sketches; those of other spaces are left out."""
        for record in self.records:
            adopted = _adopted(record, sketches)
            if adopted is not None:
                if record.is_valid:
                    self.best.append((*adopted, record.mean_secs))
                yield adopted
        self.best.sort(key=lambda item: item[2])


def _adopted(record: Any, sketches: Sequence[Sketch]) -> tuple[Sketch, Trace] | None:
    """A record as a trace of one of the sketches; None if it is of none, or damaged."""
    with contextlib.suppress(RecordError, TypeError, ValueError, LookupError, AttributeError):
        form = record.trace_json
        for sketch in sketches:
            trace = sketch.adopted(form)
            if trace is not None:
                sketch.key(trace)  # which decisions of another form have not
                return sketch, trace
    return None


def _of_task(database: Any, context: TuneContext) -> list[Any]:
    if context.mod is None or not len(database) or not database.has_workload(context.mod):
        return []
    own = database.commit_workload(context.mod)
    return [
        record
        for record in database.get_all_tuning_records()
        if record.workload.shash == own.shash
        and record.machine.get("cpu") == this_machine()["cpu"]
        and (context.target is None or same_machine_code(record, context.target))
    ]
