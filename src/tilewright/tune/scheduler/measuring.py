"""From candidates to results: building, running, and checking what becomes the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from tilewright.tune.scheduler.pipeline import BuiltAndRun
from tilewright.tune.scheduler.task_record import TaskRecord, latency_of
from tilewright.tune.workload import Workload

ENOUGH: Final = 2
"""Number of candidates on the way for each that a fleet runs at a time: others are built."""

POLLING: Final = 0.005
"""Seconds between checks for a result, where time is limited."""

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
        """Whether all results have arrived."""
        return self.is_abandoned or self.seconds_left() <= 0

    def overlaps(self, task: TaskRecord) -> bool:
        """Whether others can be built while candidates of a task run, on a core that they leave."""
        return self.runner.is_elsewhere or task.target.num_cores < core_count()

    def has_room(self, running: Sequence[TaskRecord]) -> bool:
        """Whether a fleet could do with more candidates than those of `running` tasks.

        There is enough for each worker, and a batch that is complete while the next one is searched
        for does not leave it idle.
        """
        left = sum(not future.done() for task in running for future in task.runner_futures or ())
        batch = max((len(task.runner_futures or ()) for task in running), default=0)
        return left < ENOUGH * max(self.runner.concurrency, batch)

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
        are built first, because building would slow those that run. A builder that is asynchronous
        goes on in the background.

        Args:
            task: what they are candidates of; gets the builds and the futures as they come.
            candidates: what to measure.
            built: is told each build.
        """
        builds = [_not_built() for _ in candidates]
        futures = [_failed(build) for build in builds]
        task.begin_batch(candidates, builds, futures)
        overlap = self.overlaps(task)
        if overlap and self.builder.is_asynchronous:
            self._begin_in_background(task, candidates, built)
            return
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

    def _begin_in_background(
        self,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        told: Callable[[BuilderResult], None],
    ) -> None:
        if self.is_over:
            return
        builds, futures = task.builder_results, task.runner_futures
        assert builds is not None
        assert futures is not None

        def run(candidate: MeasureCandidate, build: BuilderResult) -> RunnerFuture:
            (future,) = self.runner.run(self._inputs(task, [candidate], [build]))
            return future

        ways = [BuiltAndRun(partial(run, candidate), told) for candidate in candidates]

        def built(position: int, build: BuilderResult) -> None:
            builds[position] = self._noted(task, candidates[position], build)
            ways[position].go_on(builds[position])

        with Profiler.timeit("SendToBuilder"):
            started = self.builder.begin(self._build_inputs(task, candidates), built)
        for way, build in zip(ways, started, strict=True):
            way.build = build
        futures[:] = ways

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
    ) -> Callable[[], list[RunnerResult]]:
        """Begin to run candidates in turns, `seconds` each; gives what waits for the results."""
        inputs = self._inputs(task, candidates, builds)
        for item in inputs:
            item.seconds = seconds
        if not inputs:
            return list
        wait = self.runner.start_remeasuring(inputs)
        return lambda: [_sound(result) for result in wait()]

    def wait(
        self, futures: Sequence[RunnerFuture], measured: Callable[[RunnerResult], None]
    ) -> list[RunnerResult]:
        """The results, each passed to `measured` when it arrives.

        When time is up, pending ones count as cancelled.
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

    def wait_for_one(self, futures: Sequence[RunnerFuture]) -> None:
        """Wait for the first pending result, or until time is up."""
        left = [future for future in futures if not future.done()]
        if left and self._is_done(left[0]):
            left[0].result()

    def _is_done(self, future: RunnerFuture) -> bool:
        """Whether a result has arrived, or can be waited for."""
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
        untransformed program are pending, only a patient caller waits for them.
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
        stream = iter(self.builder.stream(self._build_inputs(task, candidates)))
        try:
            for position, build in stream:
                yield position, self._noted(task, candidates[position], build)
                if self.is_over:
                    break
        finally:
            close = getattr(stream, "close", None)
            if close is not None:
                close()

    def _build_inputs(
        self, task: TaskRecord, candidates: Sequence[MeasureCandidate]
    ) -> list[BuilderInput]:
        limit = math.inf
        if task.default_build is not None:
            limit = max(LEAST_BUILD, TIMES_DEFAULT * task.default_build.cpu_seconds)
        end = time.monotonic() + self.seconds_left()
        return [
            BuilderInput(self._deployed(c).mod, task.target, cpu_seconds=limit, deadline=end)
            for c in candidates
        ]

    def _noted(
        self, task: TaskRecord, candidate: MeasureCandidate, build: BuilderResult
    ) -> BuilderResult:
        """A build as it counts."""
        if self.seconds_left() <= 0 and build.error_kind == "build-timeout":
            return _not_built()  # a longer one than there was time for
        if candidate.is_default and build.artifact_path is not None:
            task.default_build = build
        return build

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
