"""Candidates that an earlier run measured already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from tilewright.tune.database import Database, TuningRecord
from tilewright.tune.database.matching import same_machine_code
from tilewright.tune.database.selection import fastest
from tilewright.tune.machine import this_machine
from tilewright.tune.measure import RunnerResult
from tilewright.tune.scheduler.task_record import TaskRecord

KEPT: Final = 2
"""How many of the fastest candidates of earlier runs take part in the final of this one."""


class KnownTrials:
    """What a database has about a task: its candidates are not measured twice.

    Args:
        task: the task.
        database: what was measured before.
    """

    def __init__(self, task: TaskRecord, database: Database) -> None:
        self.records: list[TuningRecord] = []
        self._results: dict[str, RunnerResult] = {}
        if not len(database) or not database.has_workload(task.mod):
            return
        workload = database.commit_workload(task.mod)
        for record in database.get_all_tuning_records():
            if record.workload is not workload or not _is_comparable(record, task):
                continue
            self.records.append(record)
            self._results[json.dumps(record.trace_json)] = _result(record)

    def __len__(self) -> int:
        return len(self._results)

    def split(self, candidates: Sequence[Any]) -> tuple[list[Any], list[Any], list[RunnerResult]]:
        """Candidates that are new, those that are known, and the results of the latter."""
        new, known, results = [], [], []
        for candidate in candidates:
            found = self._results.get(_form(candidate)) if self._results else None
            if found is None:
                new.append(candidate)
            else:
                known.append(candidate)
                results.append(found)
        return new, known, results

    def valid(self) -> tuple[list[Any], list[RunnerResult]]:
        """Candidates that ran, and their results, for a cost model to learn from."""
        records = [record for record in self.records if record.is_valid]
        return [r.as_measure_candidate() for r in records], [_result(r) for r in records]

    def fastest(self) -> list[tuple[float, Any]]:
        """The latencies of the fastest candidates, and these."""
        return [(r.mean_secs, r.as_measure_candidate()) for r in fastest(self.records, KEPT)]


def _form(candidate: Any) -> str:
    return json.dumps(candidate.sch.trace.as_json())


def _is_comparable(record: TuningRecord, task: TaskRecord) -> bool:
    return record.machine.get("cpu") == this_machine()["cpu"] and same_machine_code(
        record, task.target
    )


def _result(record: TuningRecord) -> RunnerResult:
    if record.is_valid:
        return RunnerResult(record.run_secs, cpu_secs=record.cpu_secs)
    kind: Any = record.error_kind or "run"
    return RunnerResult(None, record.error or "it failed in an earlier run", kind)
