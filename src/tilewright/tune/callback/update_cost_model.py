"""The cost model learns from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.tune.callback.measure_callback import MeasureCallback

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler


class UpdateCostModel(MeasureCallback):
    """Shows every candidate that was built to the cost model of the scheduler."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[Any],
        builder_results: Sequence[Any],
        runner_results: Sequence[Any],
    ) -> None:
        """Learn from a batch."""
        model = task_scheduler.cost_model
        built = [r.artifact_path is not None for r in builder_results]
        if model is None or not any(built):
            return
        candidates = [c for c, kept in zip(measure_candidates, built, strict=True) if kept]
        results = [r for r, kept in zip(runner_results, built, strict=True) if kept]
        model.update(task_scheduler.tasks[task_id].ctx, candidates, results)
