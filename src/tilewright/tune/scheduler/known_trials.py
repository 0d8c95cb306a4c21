"""Candidates that an earlier run measured already."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from tilewright.error import RecordError
from tilewright.ir.structural import structural_equal
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.database import Database, TuningRecord
from tilewright.tune.database.selection import fastest, records_of
from tilewright.tune.measure import RunnerResult
from tilewright.tune.scheduler.task_record import TaskRecord

_logger = logging.getLogger(__name__)

KEPT: Final = 2
"""Number of the fastest candidates of earlier runs that take part in the final of this one."""


class KnownTrials:
    """The records of a task in a database, whose candidates are not measured again.

    Records that cannot be used, such as one whose trace no longer applies, are passed over.

    Args:
        task: the task.
        database: what was measured before.
    """

    def __init__(self, task: TaskRecord, database: Database) -> None:
        self.records: list[TuningRecord] = []
        self._results: dict[str, RunnerResult] = {}
        self.taken: list[tuple[float, MeasureCandidate]] = []
        self._ranking: Iterator[tuple[TuningRecord, MeasureCandidate]] | None = None
        self._mod = task.mod
        for record in records_of(database, task.mod, task.target, task.ctx.machine):
            same = database.module_equality.needs_same_blocks
            if not same and not structural_equal(record.workload.mod, task.mod):
                return  # what is around the main block takes time, too
            try:
                form = json.dumps(record.trace_json)
            except RecordError as error:
                _logger.warning("passed over %r: %s", record, error)
                continue
            self.records.append(record)
            self._results[form] = _result(record)

    def __len__(self) -> int:
        return len(self._results)

    def split(
        self, candidates: Sequence[MeasureCandidate]
    ) -> tuple[list[MeasureCandidate], list[MeasureCandidate], list[RunnerResult]]:
        """Candidates that are new, those that are known, and the results of the latter."""
        new, known, results = [], [], []
        for candidate in candidates:
            found = self._results.get(candidate.form) if self._results else None
            if found is None:
                new.append(candidate)
            else:
                known.append(candidate)
                results.append(found)
        return new, known, results

    def valid(self) -> tuple[list[MeasureCandidate], list[RunnerResult]]:
        """Candidates that ran, and their results, for a cost model to learn from."""
        found = list(self._candidates([record for record in self.records if record.is_valid]))
        return [candidate for _, candidate in found], [_result(record) for record, _ in found]

    def take_fastest(self) -> list[tuple[float, MeasureCandidate]]:
        """The latencies of the fastest candidates, and these; when called again, of the next."""
        if self._ranking is None:
            self._ranking = self._candidates(fastest(self.records, len(self.records)))
        found = islice(self._ranking, KEPT)
        self.taken = [(record.mean_secs, candidate) for record, candidate in found]
        return self.taken

    def _candidates(
        self, records: Sequence[TuningRecord]
    ) -> Iterator[tuple[TuningRecord, MeasureCandidate]]:
        """Records with what they are about, for the program of the task."""
        args_info = ArgInfo.from_entry_func(self._mod)
        for record in records:
            try:
                sch = record.schedule(self._mod)
                yield record, MeasureCandidate(sch, args_info, is_default=record.is_default)
            except RecordError as error:
                _logger.warning("passed over %r: %s", record, error)


def _result(record: TuningRecord) -> RunnerResult:
    if record.is_valid:
        return RunnerResult(record.run_secs, cpu_secs=record.cpu_secs)
    kind: Any = record.error_kind or "run"
    return RunnerResult(None, record.error or "it failed in an earlier run", kind)
