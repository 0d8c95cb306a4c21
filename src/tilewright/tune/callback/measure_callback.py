"""What happens after each batch of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentError, UnknownNameError

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

    @staticmethod
    def create(kind: Any = "default") -> list[MeasureCallback]:
        """Callbacks from what users give.

        Args:
            kind: ``"default"``, ``"none"``, a callback, or a list of callbacks, which is returned
                as it is.
        """
        if isinstance(kind, MeasureCallback):
            return [kind]
        if isinstance(kind, str):
            if kind not in ("default", "none"):
                raise UnknownNameError(
                    f"there are no measure callbacks {kind!r}; known are 'default', 'none'"
                )
            return default_callbacks() if kind == "default" else []
        if not isinstance(kind, Sequence) or not all(hasattr(item, "apply") for item in kind):
            raise ArgumentError(f"expected a list of measure callbacks, got {kind!r}")
        return list(kind)


def default_callbacks() -> list[MeasureCallback]:
    """What happens after each batch if nothing else is asked for."""
    from tilewright.tune.callback import AddToDatabase, RemoveBuildArtifact, UpdateCostModel

    return [AddToDatabase(), RemoveBuildArtifact(), UpdateCostModel()]
