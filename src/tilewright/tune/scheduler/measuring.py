"""From candidates to results: building, running, and checking what becomes the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.target.cpu import core_count
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.measure import (
    Builder,
    BuilderInput,
    BuilderResult,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.progress.profiler import Profiler
from tilewright.tune.scheduler.failures import CANCELLED
from tilewright.tune.scheduler.task_record import TaskRecord, latency_of
from tilewright.tune.workload import Workload


class Measuring:
    """A builder and a runner at work for tasks.

    Args:
        builder: compiles candidates.
        runner: times them.
        is_over: whether there is no time left; what was not measured then counts as cancelled.
    """

    def __init__(self, builder: Builder, runner: Runner, is_over: Callable[[], bool]) -> None:
        self.builder = builder
        self.runner = runner
        self.is_abandoned = False
        self._is_out_of_time = is_over
        self._keys: dict[int, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether nothing is waited for any more."""
        return self.is_abandoned or self._is_out_of_time()

    @staticmethod
    def overlaps(task: TaskRecord) -> bool:
        """Whether candidates of a task leave a core free, on which others can be built."""
        return task.target.num_cores < core_count()

    def expect(self, task: TaskRecord) -> None:
        """Let the runner compute the right results of a task, in the background."""
        args_info = ArgInfo.from_entry_func(task.mod)
        self.runner.expect(self._input(task, "", args_info), task.mod)

    def begin_batch(
        self, task: TaskRecord, candidates: Sequence[Any], built: Callable[[BuilderResult], None]
    ) -> None:
        """Build candidates and begin to run them.

        Where the candidates leave cores free, each one runs as soon as it is built; otherwise all
        are built first, because building would slow those that run.

        Args:
            task: what they are candidates of; gets the builds and the futures as they come.
            candidates: what to measure.
            built: is told each build.
        """
        builds = [BuilderResult(None, "it was not built any more", CANCELLED) for _ in candidates]
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

    def build(self, task: TaskRecord, candidates: Sequence[Any]) -> list[BuilderResult]:
        """Build candidates."""
        return self.builder.build([BuilderInput(c.sch.mod, task.target) for c in candidates])

    def measure_again(
        self, task: TaskRecord, candidates: Sequence[Any], builds: Sequence[BuilderResult]
    ) -> list[RunnerResult]:
        """The results of candidates that run in turns."""
        results = self.runner.remeasure(self._inputs(task, candidates, builds))
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
                if self.is_over and not future.done():
                    results.append(RunnerResult(None, "it was not run any more", CANCELLED))
                else:
                    results.append(_sound(future.result()))
                measured(results[-1])
        return results

    def check(
        self,
        task: TaskRecord,
        candidates: Sequence[Any],
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
                run = self._input(task, path, candidates[position].args_info)
                if not patient and not self.runner.can_check(run, task.mod):
                    break
                difference = self.runner.check(run, task.mod)
                if difference is None:
                    task.verified.append(candidates[position])
                    break
                seconds = results[position].seconds
                checked[position] = RunnerResult(None, difference, "wrong-result", None, seconds)
        return checked

    def _stream(self, task: TaskRecord, candidates: Sequence[Any]) -> Any:
        """The builds with their positions, until time is up."""
        stream = iter(
            self.builder.stream([BuilderInput(c.sch.mod, task.target) for c in candidates])
        )
        try:
            for position, build in stream:
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
        candidates: Sequence[Any],
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
        self, task: TaskRecord, candidates: Sequence[Any], builds: Sequence[BuilderResult]
    ) -> list[RunnerInput]:
        return [
            self._input(task, build.artifact_path or "", candidate.args_info)
            for candidate, build in zip(candidates, builds, strict=True)
        ]

    def _input(self, task: TaskRecord, path: str, args_info: Sequence[ArgInfo]) -> RunnerInput:
        if id(task) not in self._keys:
            self._keys[id(task)] = Workload(task.mod).key
        return RunnerInput(
            path,
            task.target.kind.device_type,
            args_info,
            key=self._keys[id(task)],
            num_cores=task.target.num_cores,
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


def _failed(build: BuilderResult) -> RunnerFuture:
    """The result of a candidate that cannot run."""
    result = RunnerResult(None, build.error_msg, build.error_kind)
    return RunnerFuture(lambda: True, lambda: result)
