"""From candidates to results: building, running, and checking what becomes the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tilewright.target.cpu import core_count
from tilewright.tune.candidate import ArgInfo, Deployed, MeasureCandidate
from tilewright.tune.measure import (
    Builder,
    BuilderInput,
    BuilderResult,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.measure.interfaces import CANCELLED
from tilewright.tune.progress.profiler import Profiler
from tilewright.tune.scheduler.task_record import TaskRecord, latency_of
from tilewright.tune.workload import Workload

POLLING: Final = 0.005
"""Seconds between questions whether a result is there, where time is limited."""

TIMES_DEFAULT: Final = 8.0
"""Limit of the processor time of a build, relative to that of the default schedule."""

CHECK_PATIENCE: Final = 5.0
"""Seconds to wait for the right results of a program, where time is limited."""

LEAST_BUILD: Final = 2.0
"""Seconds of processor time that building a candidate may take in any case."""


class Measuring:
    """A builder and a runner at work for tasks.

    Args:
        builder: compiles candidates.
        runner: times them.
        seconds_left: how much time is left; when there is none, what was not measured counts as
            cancelled.
    """

    def __init__(self, builder: Builder, runner: Runner, seconds_left: Callable[[], float]) -> None:
        self.builder = builder
        self.runner = runner
        self.is_abandoned = False
        self.seconds_left = seconds_left
        self._keys: dict[int, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether nothing is waited for any more."""
        return self.is_abandoned or self.seconds_left() <= 0

    @staticmethod
    def overlaps(task: TaskRecord) -> bool:
        """Whether candidates of a task leave a core free, on which others can be built."""
        return task.target.num_cores < core_count()

    def expect(self, task: TaskRecord) -> None:
        """Let the runner compute the right results of a task, in the background."""
        self.runner.expect(self._input(task, ""), task.mod)

    def begin_batch(
        self,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        built: Callable[[BuilderResult], None],
    ) -> None:
        """Build candidates and begin to run them.

        Where the candidates leave cores free, each one runs as soon as it is built; otherwise all
        are built first, because building would slow those that run.

        Args:
            task: what they are candidates of; gets the builds and the futures as they come.
            candidates: what to measure.
            built: is told each build.
        """
        builds = [_not_built() for _ in candidates]
        futures = [_failed(build) for build in builds]
        task.begin_batch(candidates, builds, futures)
        overlap = self.overlaps(task)
        with Profiler.timeit("SendToBuilder"):
            for position, build in self._stream(task, candidates):
                builds[position] = build
                if build.artifact_path is None:
                    futures[position] = _failed(build)
                if overlap and build.artifact_path is not None:
                    self._run(task, candidates, builds, futures, [position])
                built(build)
        ready = [i for i, build in enumerate(builds) if build.artifact_path is not None]
        if not overlap and ready and not self.is_over:
            with Profiler.timeit("SendToRunner"):
                self._run(task, candidates, builds, futures, ready)

    def build(
        self, task: TaskRecord, candidates: Sequence[MeasureCandidate]
    ) -> list[BuilderResult]:
        """Build candidates, as many as there is time for."""
        builds = [_not_built() for _ in candidates]
        for position, build in self._stream(task, candidates):
            builds[position] = build
        return builds

    def measure_again(
        self,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        builds: Sequence[BuilderResult],
        seconds: float,
    ) -> list[RunnerResult]:
        """The results of candidates that run in turns, `seconds` each."""
        inputs = self._inputs(task, candidates, builds)
        for item in inputs:
            item.seconds = seconds
        results = self.runner.remeasure(inputs) if inputs else []
        return [_sound(result) for result in results]

    def wait(
        self, futures: Sequence[RunnerFuture], measured: Callable[[RunnerResult], None]
    ) -> list[RunnerResult]:
        """The results, each told to `measured` when it is there.

        When time is up, those that are not there yet count as cancelled.
        """
        results = []
        with Profiler.timeit("JoinRunnerFutures"):
            for future in futures:
                if self._is_done(future):
                    results.append(_sound(future.result()))
                else:
                    future.cancel()
                    results.append(RunnerResult(None, "it was not run any more", CANCELLED))
                measured(results[-1])
        return results

    def _is_done(self, future: RunnerFuture) -> bool:
        """Whether a result is there, or can be waited for."""
        if not self.is_over and math.isinf(self.seconds_left()):
            return True
        while not future.done():
            if self.is_over:
                return False
            time.sleep(POLLING)
        return True

    def check(
        self,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        builds: Sequence[BuilderResult],
        results: Sequence[RunnerResult],
        than: float,
        patient: bool = False,
    ) -> list[RunnerResult]:
        """The results, the fastest one certainly right.

        Candidates that are faster than `than` are compared with the untransformed program, the
        fastest first, until one agrees; those that do not agree have failed. If the results of the
        untransformed program are not there yet, only a patient caller waits for them.
        """
        checked = list(results)
        order = sorted(range(len(results)), key=lambda position: latency_of(results[position]))
        with Profiler.timeit("CheckResults"):
            for position in order:
                path = builds[position].artifact_path
                if latency_of(results[position]) >= than or path is None:
                    break
                if task.is_verified(candidates[position]):
                    break
                run = self._input(task, path, candidates[position])
                if not self._can_check(run, task, patient):
                    break
                difference = self.runner.check(run, task.mod)
                if difference is None:
                    task.verified.append(candidates[position])
                    break
                checked[position] = RunnerResult(
                    None,
                    difference,
                    "wrong-result",
                    seconds=results[position].seconds,
                    machine=results[position].machine,
                )
        return checked

    def _can_check(self, run: RunnerInput, task: TaskRecord, patient: bool) -> bool:
        """Whether the right results are there, or can be waited for."""
        limit = min(CHECK_PATIENCE, self.seconds_left())
        if patient and math.isinf(self.seconds_left()):
            return True
        end = time.monotonic() + limit
        while not self.runner.can_check(run, task.mod):
            if not patient or time.monotonic() > end:
                return False
            time.sleep(POLLING)
        return True

    def _stream(
        self, task: TaskRecord, candidates: Sequence[MeasureCandidate]
    ) -> Iterator[tuple[int, BuilderResult]]:
        """The builds with their positions, until time is up."""
        if self.is_over:
            return
        limit = math.inf
        if task.default_build is not None:
            limit = max(LEAST_BUILD, TIMES_DEFAULT * task.default_build.cpu_seconds)
        end = time.monotonic() + self.seconds_left()
        inputs = [
            BuilderInput(self._deployed(c).mod, task.target, cpu_seconds=limit, deadline=end)
            for c in candidates
        ]
        stream = iter(self.builder.stream(inputs))
        try:
            for position, build in stream:
                if self.seconds_left() <= 0 and build.error_kind == "build-timeout":
                    build = _not_built()  # a longer one than there was time for
                if candidates[position].is_default and build.artifact_path is not None:
                    task.default_build = build
                yield position, build
                if self.is_over:
                    break
        finally:
            close = getattr(stream, "close", None)
            if close is not None:
                close()

    def _run(
        self,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        builds: Sequence[BuilderResult],
        futures: list[RunnerFuture],
        positions: Sequence[int],
    ) -> None:
        inputs = self._inputs(
            task, [candidates[i] for i in positions], [builds[i] for i in positions]
        )
        for position, future in zip(positions, self.runner.run(inputs), strict=True):
            futures[position] = future

    def _inputs(
        self,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        builds: Sequence[BuilderResult],
    ) -> list[RunnerInput]:
        return [
            self._input(task, build.artifact_path or "", candidate)
            for candidate, build in zip(candidates, builds, strict=True)
        ]

    def _deployed(self, candidate: MeasureCandidate) -> Deployed:
        """What is built and run of a candidate."""
        if self.runner.packs_constants:
            return candidate.deployed
        return Deployed(candidate.sch.mod, {})

    def _input(
        self, task: TaskRecord, path: str, candidate: MeasureCandidate | None = None
    ) -> RunnerInput:
        if id(task) not in self._keys:
            self._keys[id(task)] = Workload(task.mod).key
        return RunnerInput(
            path,
            task.target.kind.device_type,
            ArgInfo.from_entry_func(task.mod) if candidate is None else candidate.args_info,
            key=self._keys[id(task)],
            num_cores=task.target.num_cores,
            packed={} if candidate is None else self._deployed(candidate).packed,
        )


def _sound(result: RunnerResult) -> RunnerResult:
    """The result; a failure if a runner of the user's gives times that can be none."""
    if result.error_msg is not None:
        return result
    times = [float(seconds) for seconds in result.run_secs or ()]
    if times and all(0 < seconds < math.inf for seconds in times):
        return result
    message = f"the runner gives {times} as the seconds of its runs"
    return RunnerResult(None, message, "run", seconds=result.seconds)


def _not_built() -> BuilderResult:
    return BuilderResult(None, "it was not built any more", CANCELLED)


def _failed(build: BuilderResult) -> RunnerFuture:
    """The result of a candidate that cannot run."""
    result = RunnerResult(None, build.error_msg, build.error_kind)
    return RunnerFuture(lambda: True, lambda: result)
