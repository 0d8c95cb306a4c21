"""What happens after each batch of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler


class MeasureCallback:
    """Called with every batch of candidates that was measured.

    Subclasses define `apply`::

        class CountFailures(MeasureCallback):
            failures = 0

            def apply(self, task_scheduler, task_id, measure_candidates,
                      builder_results, runner_results):
                self.failures += sum(r.error_msg is not None for r in runner_results)
    """

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[Any],
        builder_results: Sequence[Any],
        runner_results: Sequence[Any],
    ) -> None:
        """Look at a batch: one builder result and one runner result for each candidate.

        Args:
            task_scheduler: has the tasks, the database and the cost model.
            task_id: which of `task_scheduler.tasks` the candidates belong to.
            measure_candidates: schedules and descriptions of their arguments.
            builder_results: paths of the artifacts, or why there is none.
            runner_results: run times, or why there are none.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `apply`")
