"""What the tuner measured, as configs and what came of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tilewright.autotvm.measure import EstimatedResult, MeasureErrorNo, MeasureInput, MeasureResult
from tilewright.autotvm.task.task import Task
from tilewright.autotvm.template_step import config_of
from tilewright.tune.callback import AddToDatabase
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.measure import BuilderResult, RunnerResult
from tilewright.tune.scheduler import TaskRecord, TaskScheduler

Take = Callable[[Sequence[MeasureInput], Sequence[MeasureResult], bool], None]


class Batches(AddToDatabase):
    """Gives each batch to a function, and the results of what is measured again at the end.

    Args:
        task: the task.
        take: gets configs, what came of them, and whether that supersedes what it got before.
    """

    def __init__(self, task: Task, take: Take) -> None:
        super().__init__()
        self._task = task
        self._take = take

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Give a batch."""
        del task_scheduler, task_id
        pairs = zip(builder_results, runner_results, strict=True)
        self._give(measure_candidates, runner_results, [b.seconds + r.seconds for b, r in pairs])

    def add(
        self,
        task_scheduler: TaskScheduler,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
        supersede: bool = False,
    ) -> None:
        """Give what was measured again."""
        del task_scheduler, task
        self._give(candidates, results, [result.seconds for result in results], supersede)

    def _give(
        self,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
        seconds: Sequence[float],
        supersedes: bool = False,
    ) -> None:
        inputs = [
            MeasureInput(self._task.target, self._task, config_of(candidate.sch.trace)[1])
            for candidate in candidates
        ]
        outcomes = [_result(*item) for item in zip(results, seconds, strict=True)]
        self._take(inputs, outcomes, supersedes)


def _result(result: RunnerResult, seconds: float) -> MeasureResult:
    failed = result.error_msg is not None
    costs = (result.error_msg,) if failed else tuple(result.run_secs or ())
    number = MeasureErrorNo.of(result.error_kind if failed else None)
    kind = EstimatedResult if result.is_estimate else MeasureResult
    return kind(costs, number, seconds, time.time())
