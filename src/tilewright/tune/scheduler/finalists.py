"""The fastest candidates of a task are measured again before one of them wins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.tune.callback import AddToDatabase, RemoveBuildArtifact
from tilewright.tune.callback.add_to_database import add_to_database
from tilewright.tune.interrupts import deferred
from tilewright.tune.measure import RunnerResult
from tilewright.tune.scheduler.failures import CANCELLED
from tilewright.tune.scheduler.known_trials import KnownTrials
from tilewright.tune.scheduler.measuring import Measuring
from tilewright.tune.scheduler.task_record import TaskRecord, latency_of

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler

FINALISTS: Final = 5
"""How many candidates of a task are measured again at a time."""

CLOSE: Final = 1.15
"""Candidates that took longer than the best one by this factor were not unlucky."""

ROUNDS: Final = 3
"""Once measured again, the best may be slower than others that were not; then these follow."""


def measure_finalists(
    measuring: Measuring, scheduler: TaskScheduler, known: Mapping[int, KnownTrials]
) -> None:
    """Measure the fastest candidates of each task again, in turns.

    Of many measurements, the best one was lucky. The new results go to the database, where they
    replace the old ones. An earlier run that was interrupted may have left more candidates that
    are wrong: as long as those that take part are, the next ones of that run follow.
    """
    for task in scheduler.tasks:
        _settle(measuring, scheduler, task)
        earlier = known.get(task.task_id)
        while earlier is not None and _is_one_refuted(task, earlier.taken):
            task.replace(earlier.take_fastest())
            _settle(measuring, scheduler, task)


def _settle(measuring: Measuring, scheduler: TaskScheduler, task: TaskRecord) -> None:
    again: list[Any] = []
    for count in itertools.count():
        chosen = _challengers(task, again)
        settled = not task.fastest or task.is_verified(task.fastest[0][1])
        if not chosen or (settled and (count >= ROUNDS or (not again and len(chosen) == 1))):
            break
        _measure_again(measuring, scheduler, task, chosen[:FINALISTS])
        again += chosen[:FINALISTS]


def _is_one_refuted(task: TaskRecord, taken: Sequence[tuple[float, Any]]) -> bool:
    """Whether a candidate that seemed to be faster than the best one has failed."""
    left = {id(candidate) for _, candidate in task.fastest}
    return any(latency <= task.latency and id(c) not in left for latency, c in taken)


def _challengers(task: TaskRecord, again: Sequence[Any]) -> list[Any]:
    """Candidates that were not measured again, and may be the best."""
    done = {id(candidate) for candidate in again}
    best = min((t for t, c in task.fastest if id(c) in done), default=CLOSE * task.latency)
    return [c for t, c in task.fastest if t <= best and id(c) not in done]


def _measure_again(
    measuring: Measuring, scheduler: TaskScheduler, task: TaskRecord, chosen: Sequence[Any]
) -> None:
    """Replace the results of candidates by new ones."""
    builds = measuring.build(task, chosen)
    ready = [i for i, build in enumerate(builds) if build.artifact_path is not None]
    candidates, artifacts = [chosen[i] for i in ready], [builds[i] for i in ready]
    results = measuring.measure_again(task, candidates, artifacts)
    results = measuring.check(task, candidates, artifacts, results, math.inf, patient=True)
    for candidate, build in zip(chosen, builds, strict=True):
        if build.artifact_path is None:
            candidates.append(candidate)
            artifacts.append(build)
            results.append(RunnerResult(None, build.error_msg, build.error_kind))
    valid = [i for i, r in enumerate(results) if _counts(task, candidates[i], r)]
    again, outcome = [candidates[i] for i in valid], [results[i] for i in valid]
    with deferred():
        for result in outcome:
            if result.error_msg is not None:
                task.failures.add(result.error_kind, result.error_msg)
        task.replace([(latency_of(r), c) for c, r in zip(again, outcome, strict=True)])
        for callback in scheduler.measure_callbacks:
            if isinstance(callback, AddToDatabase) and scheduler.database is not None:
                add_to_database(scheduler.database, task, again, outcome, supersede=True)
            if isinstance(callback, RemoveBuildArtifact):
                callback.apply(scheduler, task.task_id, candidates, artifacts, results)


def _counts(task: TaskRecord, candidate: Any, result: RunnerResult) -> bool:
    """Whether a result replaces the one before.

    A candidate that is known to be right ran before: if it fails now, that is the machine's fault.
    One of which that is not known must not win without having been checked.
    """
    if result.error_kind in (None, "wrong-result"):
        return True
    return result.error_kind != CANCELLED and not task.is_verified(candidate)
