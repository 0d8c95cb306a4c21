"""Summaries of a run: its phases, and a task from its records."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tilewright.error import TVMError
from tilewright.target import Target
from tilewright.tir.analysis.cost import estimate_tir_flops
from tilewright.tune.candidate import ArgInfo, TensorInfo
from tilewright.tune.database import TuningRecord, fastest
from tilewright.tune.workload import Workload

_logger = logging.getLogger(__name__)

TOTAL: Final = "Total"
FILE: Final = Path("logs") / "profile.json"

_GROUPS: Final = {
    "InitializeTasks": "search",
    "GenerateCandidates": "search",
    "NotifyRunnerResults": "search",
    "SendToBuilder": "build",
    "SendToRunner": "run",
    "JoinRunnerFutures": "run",
    "MeasureFinalists": "run",
    "CheckResults": "check",
    "ApplyMeasureCallbacks": "learn",
}
"""What the phases that a `Profiler` knows are part of."""


def grouped(seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds by search, build, run, check, learning and the rest, from those of a `Profiler`."""
    found = dict.fromkeys(dict.fromkeys(_GROUPS.values()), 0.0)
    for phase, spent in seconds.items():
        if phase in _GROUPS:
            found[_GROUPS[phase]] += spent
    rest = seconds.get(TOTAL, 0.0) - sum(found.values())
    return {**found, "other": max(rest, 0.0)}


def save_phases(work_dir: str | Path, seconds: Mapping[str, float]) -> None:
    """Add the times of a run to those of earlier runs in the same directory.

    Where they cannot be written, a warning is logged.
    """
    path = Path(work_dir) / FILE
    before = load_phases(work_dir) or {}
    total = {name: before.get(name, 0.0) + spent for name, spent in seconds.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**before, **total}, indent=1) + "\n")
    except OSError as error:
        _logger.warning("cannot write %s: %s", path, error.strerror or error)


def load_phases(work_dir: str | Path) -> dict[str, float] | None:
    """What `save_phases` wrote; None if there is nothing that can be read."""
    try:
        form = json.loads((Path(work_dir) / FILE).read_text())
        return {str(name): float(spent) for name, spent in form.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


@dataclass
class Failures:
    """Candidates that failed for the same reason.

    Attributes:
        kind: the reason.
        count: number of them.
        example: what one of them said.
    """

    kind: str
    count: int
    example: str


@dataclass
class TaskSummary:
    """A task with its candidates.

    Attributes:
        name: of the task.
        workload: the program.
        target: the target of the tuning.
        trials: its candidates in the order of measurement.
        best: the fastest; None if none ran.
        flop: operations of one run; 0 if they cannot be counted.
        traffic: bytes of all arguments: what one run has to read or write at least.
        dtype: of the arithmetic.
        failures: by reason, the most frequent first.
    """

    name: str
    workload: Workload
    target: Target | None
    trials: list[TuningRecord]
    best: TuningRecord | None
    flop: float
    traffic: float
    dtype: str
    failures: list[Failures]

    @property
    def first_seconds(self) -> float | None:
        """The time of the first candidate that ran."""
        return next((r.mean_secs for r in self.trials if r.is_valid), None)

    @property
    def best_seconds(self) -> float | None:
        """The time of the fastest candidate."""
        return None if self.best is None else self.best.mean_secs

    @property
    def best_rate(self) -> float | None:
        """Operations per second of the fastest candidate."""
        return self.flop / self.best.mean_secs if self.best is not None and self.flop else None

    @property
    def failed(self) -> int:
        """Number of failed candidates."""
        return sum(failure.count for failure in self.failures)


def summarized(records: Iterable[TuningRecord]) -> list[TaskSummary]:
    """A summary of each task with records, in order of their start."""
    groups: dict[tuple[str, str, str, bool], list[TuningRecord]] = {}
    for record in records:
        key = (record.task_name, record.workload.key, str(record.target), record.is_estimate)
        groups.setdefault(key, []).append(record)
    return [_summary(group) for group in groups.values()]


def _summary(records: list[TuningRecord]) -> TaskSummary:
    first = records[0]
    arguments = _arguments(first)
    sizes = [_bytes(info) for info in arguments]
    best = fastest(records, 1)
    return TaskSummary(
        name=first.task_name + (" (estimated)" if first.is_estimate else ""),
        workload=first.workload,
        target=first.target,
        # Repeated measurements do not count as trials.
        trials=[record for record in records if not record.supersedes],
        best=best[0] if best else None,
        flop=_flop(first.workload),
        traffic=float(sum(sizes)),
        dtype=str(arguments[0].dtype) if arguments else "float32",
        failures=_failures(records),
    )


def _arguments(record: TuningRecord) -> list[TensorInfo]:
    try:
        infos = record.args_info or ArgInfo.from_entry_func(record.workload.mod)
    except TVMError:
        return []
    return [info for info in infos if isinstance(info, TensorInfo)]


def _bytes(info: TensorInfo) -> int:
    size = info.dtype.itemsize
    for extent in info.shape:
        size *= extent
    return size


def _flop(workload: Workload) -> float:
    try:
        return estimate_tir_flops(workload.mod)
    except TVMError:
        return 0.0


def _failures(records: Iterable[TuningRecord]) -> list[Failures]:
    found: dict[str, Failures] = {}
    for record in records:
        if record.is_valid:
            continue
        kind = record.error_kind or "run"
        failure = found.setdefault(kind, Failures(kind, 0, record.error or ""))
        failure.count += 1
    return sorted(found.values(), key=lambda failure: -failure.count)
