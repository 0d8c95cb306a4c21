"""The fastest candidates of a task are measured again before one of them wins."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tilewright.processes.interrupts import deferred
from tilewright.tune.callback import AddToDatabase, RemoveBuildArtifact
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.measure import RunnerResult
from tilewright.tune.measure.interfaces import CANCELLED
from tilewright.tune.scheduler.known_trials import KnownTrials
from tilewright.tune.scheduler.measuring import Measuring
from tilewright.tune.scheduler.task_record import TaskRecord, latency_of

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler

FINALISTS: Final = 5
"""Number of candidates of a task that are measured again at a time."""

CLOSE: Final = 1.15
"""Candidates that took longer than the best one by this factor were not unlucky."""

ROUNDS: Final = 3
"""Once measured again, the best may be slower than others that were not; then these follow."""

DISTANT: Final = 2.0
"""The default schedule is not measured again if it took this many times as long as the best."""

NOISE: Final = 0.02
"""Candidates that are faster than the default schedule by less than this part, measured in turns,
count as equally fast."""

FIRST_NOISE: Final = 0.05
"""The same for candidates that there was no time to measure in turns."""

TURNS_SECONDS: Final = 1.0
LEAST_SECONDS: Final = 0.2
"""How long a candidate takes part in a final, and how long at least where time is short."""


def measure_finalists(
    measuring: Measuring, scheduler: TaskScheduler, known: Mapping[int, KnownTrials]
) -> int:
    """Measure the fastest candidates of each task again, in turns, with the default schedule.

    The best of many measurements is biased by chance. The new results replace the old ones in the
    database. If nothing is faster than the default schedule beyond noise, the default schedule
    wins. An earlier run that was interrupted may have left more candidates that are wrong: as long
    as those that take part are, the next ones of that run follow. A fleet has as many finals at the
    same time as it has workers.

    Returns:
        Number of tasks that had a final: those whose best candidate has not won one before.
    """
    tasks = [task for task in scheduler.tasks if not task.is_settled]
    waiting = deque(sorted(tasks, key=_gain, reverse=True))
    concurrency = measuring.runner.concurrency
    running: deque[Iterator[None]] = deque()
    while waiting or running:
        while waiting and len(running) < concurrency:
            share = measuring.seconds_left() / math.ceil(len(waiting) / concurrency)
            task = waiting.popleft()
            final = _Final(measuring, scheduler, task, share)
            running.append(_settle(final, task, known.get(task.task_id)))
        first = running.popleft()
        if next(first, _OVER) is not _OVER:
            running.append(first)
    return len(tasks)


_OVER: Final = object()


def _settle(final: _Final, task: TaskRecord, earlier: KnownTrials | None) -> Iterator[None]:
    """Have the final of a task; yields where it waits for measurements, so that others begin."""
    if task.is_estimated:  # nothing is by chance
        task.settled = task.fastest[0][1] if task.fastest else None
        return
    yield from final.settle()
    while earlier is not None and _is_one_refuted(task, earlier.taken):
        task.replace(earlier.take_fastest())
        yield from final.settle()
    task.settled = task.fastest[0][1] if task.fastest else None


def _gain(task: TaskRecord) -> float:
    """Seconds that tuning a task has saved in a run of the model, as far as is known."""
    if not (task.is_measured and math.isfinite(task.default_latency)):
        return 0.0
    return task.task_weight * (task.default_latency - task.latency)


def _is_one_refuted(task: TaskRecord, taken: Sequence[tuple[float, MeasureCandidate]]) -> bool:
    """Whether a candidate that seemed to be faster than the best one has failed."""
    left = {id(candidate) for _, candidate in task.fastest}
    return any(latency <= task.latency and id(c) not in left for latency, c in taken)


class _Final:
    """The final of a task.

    Args:
        measuring: builds and runs.
        scheduler: has the callbacks and the database.
        task: the task.
        seconds: how long it may take.
    """

    def __init__(
        self, measuring: Measuring, scheduler: TaskScheduler, task: TaskRecord, seconds: float
    ) -> None:
        self._measuring, self._scheduler, self._task = measuring, scheduler, task
        self._end = time.monotonic() + seconds

    def settle(self) -> Iterator[None]:
        """Measure again until the best candidate is known to be the best, or time is up.

        It yields where it waits for results.
        """
        task = self._task
        again: list[MeasureCandidate] = []
        rounds = 0
        while chosen := self._challengers(again):
            best = task.fastest[0][1]
            is_only = not again and len(chosen) == 1
            is_known = any(candidate is best for candidate in again) or rounds >= ROUNDS
            if task.is_verified(best) and (is_only or (rounds and is_known)):
                break
            chosen = chosen[: self._places(FINALISTS)]
            if not chosen:
                break
            yield from self._measure_again(chosen)
            again += chosen
            rounds += 1
        self._put_default_first(again)

    def _challengers(self, again: Sequence[MeasureCandidate]) -> list[MeasureCandidate]:
        """Candidates that were not measured again, and may be the best; the default schedule first.

        It takes part unless it is far from the best.
        """
        task = self._task
        done = {id(candidate) for candidate in again}
        best = min((t for t, c in task.fastest if id(c) in done), default=CLOSE * task.latency)
        found = [c for t, c in task.fastest if t <= best and id(c) not in done]
        default = task.default
        if found and id(default) not in done and task.default_latency <= DISTANT * task.latency:
            found = [default, *(c for c in found if c is not default)]
        return found

    def _places(self, wanted: int) -> int:
        """Number of candidates that there is time for; one alone is not worth it."""
        left = self._end - time.monotonic()
        if math.isinf(left):
            return wanted
        build = self._task.default_build
        each = LEAST_SECONDS + (build.seconds if build is not None else 0.0)
        count = min(wanted, int(left / each))
        return count if count > 1 else 0

    def _turn_seconds(self, count: int) -> float:
        """How long each of the candidates may run."""
        left = (self._end - time.monotonic()) / max(count, 1)
        return min(TURNS_SECONDS, max(LEAST_SECONDS, left))

    def _measure_again(self, chosen: Sequence[MeasureCandidate]) -> Iterator[None]:
        """Replace the results of candidates by new ones."""
        measuring, task = self._measuring, self._task
        builds = measuring.build(task, chosen)
        ready = [i for i, build in enumerate(builds) if build.artifact_path is not None]
        candidates, artifacts = [chosen[i] for i in ready], [builds[i] for i in ready]
        seconds = self._turn_seconds(len(ready))
        wait = measuring.measure_again(task, candidates, artifacts, seconds)
        yield
        results = measuring.check(task, candidates, artifacts, wait(), math.inf, patient=True)
        for candidate, build in zip(chosen, builds, strict=True):
            if build.artifact_path is None:
                candidates.append(candidate)
                artifacts.append(build)
                results.append(RunnerResult(None, build.error_msg, build.error_kind))
        valid = [i for i, r in enumerate(results) if _counts(task, candidates[i], r)]
        outcome = [results[i] for i in valid]
        with deferred():
            for result in outcome:
                if result.error_msg is not None:
                    task.failures.add(result.error_kind, result.error_msg)
            self._take_in([candidates[i] for i in valid], outcome, NOISE)
            for callback in self._scheduler.measure_callbacks:
                if isinstance(callback, RemoveBuildArtifact):
                    callback.apply(self._scheduler, task.task_id, candidates, artifacts, results)

    def _take_in(
        self, again: Sequence[MeasureCandidate], results: list[RunnerResult], noise: float
    ) -> None:
        """Let results take the place of earlier ones."""
        task, scheduler = self._task, self._scheduler
        for candidate, result in zip(again, results, strict=True):
            if candidate.is_default:
                task.replace([(latency_of(result), candidate)])
        default = task.default_latency
        for position, result in enumerate(results):
            if (1 - noise) * default < latency_of(result) < default:
                results[position] = replace(result, run_secs=[default])
        task.replace([(latency_of(r), c) for c, r in zip(again, results, strict=True)])
        if not again:
            return
        # Of records that are equally fast, the first one is the best.
        order = sorted(range(len(again)), key=lambda i: not again[i].is_default)
        found = [again[i] for i in order], [results[i] for i in order]
        for callback in scheduler.measure_callbacks:
            if isinstance(callback, AddToDatabase):
                callback.add(scheduler, task, *found, supersede=True)

    def _put_default_first(self, again: Sequence[MeasureCandidate]) -> None:
        """Let candidates that were not measured again win only if they are clearly faster."""
        task = self._task
        done = {id(candidate) for candidate in again}
        least = (1 - FIRST_NOISE) * task.default_latency
        close = [
            (latency, candidate)
            for latency, candidate in task.fastest
            if id(candidate) not in done and least < latency < task.default_latency
        ]
        with deferred():
            results = [RunnerResult([latency]) for latency, _ in close]
            self._take_in([candidate for _, candidate in close], results, FIRST_NOISE)


def _counts(task: TaskRecord, candidate: MeasureCandidate, result: RunnerResult) -> bool:
    """Whether a result replaces the one before.

    A candidate that is known to be right ran before: if it fails now, that is the machine's fault.
    Another one must not win unchecked.
    """
    if result.error_kind in (None, "wrong-result"):
        return True
    return result.error_kind != CANCELLED and not task.is_verified(candidate)
