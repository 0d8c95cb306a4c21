"""What happens, as lines of a log."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.tune.progress.observer import TuningObserver
from tilewright.tune.progress.table import statistics_table
from tilewright.tune.scheduler.failures import CANCELLED

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_record import TaskRecord
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler

logger = logging.getLogger(__name__)


class LogObserver(TuningObserver):
    """Logs what happens: a table after each batch, and details of each task to its own logger."""

    def __init__(self) -> None:
        self._tasks: Sequence[TaskRecord] = ()
        self._best: dict[int, float] = {}

    def begin(self, scheduler: TaskScheduler) -> None:
        """Note the tasks."""
        self._tasks = scheduler.tasks

    def task_begins(self, task: TaskRecord, spaces: Sequence[Any]) -> None:
        """Log the task, and its sketches to its own logger."""
        logger.info("Initializing %s", _name(task))
        task.ctx.logger.info("%s: %d sketch(es)\n%s", _name(task), len(spaces), task.mod)
        for number, space in enumerate(spaces):
            is_default = space is task.ctx.default_schedule
            name = "default schedule" if is_default else "of the rules"
            task.ctx.logger.info("Sketch #%d, %s:\n%s\n%s", number, name, space.mod, space.trace)
        if task.is_measured:
            logger.info("%s goes on from %.4f us", _name(task), task.latency * 1e6)
        if task.task_id == len(self._tasks) - 1:
            self._log_table()

    def task_picked(self, task: TaskRecord) -> None:
        """Log which task is next."""
        logger.info("TaskScheduler picks %s", _name(task))

    def sending(self, task: TaskRecord, count: int, where: str) -> None:
        """Log how many candidates go where."""
        logger.info("Sending %d sample(s) to %s", count, where)

    def measured(self, task: TaskRecord, result: Any) -> None:
        """Log why a candidate failed to the logger of the task."""
        if result.error_msg is not None and result.error_kind != CANCELLED:
            task.ctx.logger.warning(
                "Candidate failed (%s): %s", result.error_kind, result.error_msg
            )

    def batch_ends(self, task: TaskRecord) -> None:
        """Log the table, and the best candidate to the logger of the task."""
        logger.info("[Updated] %s", _name(task))
        self._log_table()
        if task.fastest and task.latency < self._best.get(task.task_id, math.inf):
            self._best[task.task_id] = task.latency
            schedule = task.fastest[0][1].sch
            task.ctx.logger.info(
                "Best after %d trials: %.4f us\n%s\n%s",
                task.trials, task.latency * 1e6, schedule.mod, schedule.trace,
            )  # fmt: skip

    def task_ends(self, task: TaskRecord, reason: str) -> None:
        """Log that a task is done, and why."""
        remaining = sum(not other.is_terminated for other in self._tasks)
        logger.info(
            "%s has finished: %s. Remaining task(s): %d", f"Task #{task.task_id}", reason, remaining
        )
        if task.failures.total:
            logger.info("Failed candidates of %s: %s", _name(task), task.failures)
            task.ctx.logger.info("Failed candidates:\n%s", task.failures.describe())

    def failed(self, messages: Sequence[str]) -> None:
        """Log which tasks have no result."""
        for message in messages:
            logger.warning("%s", message)

    def end(self, scheduler: TaskScheduler) -> None:
        """Log the last table."""
        if scheduler.was_interrupted:
            logger.info("Tuning was interrupted; what was measured so far is kept")
        self._log_table()

    def _log_table(self) -> None:
        logger.debug("\n%s\n", statistics_table(self._tasks))


def _name(task: TaskRecord) -> str:
    return f'Task #{task.task_id}: "{task.name}"'
