"""Results become records."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import DatabaseError
from tilewright.tune.callback.measure_callback import MeasureCallback
from tilewright.tune.database import Database, TuningRecord
from tilewright.tune.workload import Workload

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_record import TaskRecord
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler

_logger = logging.getLogger(__name__)


class AddToDatabase(MeasureCallback):
    """Adds every candidate, also those that failed, to the database of the scheduler."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[Any],
        builder_results: Sequence[Any],
        runner_results: Sequence[Any],
    ) -> None:
        """Add a batch."""
        database = task_scheduler.database
        if database is None:
            return
        task = task_scheduler.tasks[task_id]
        add_to_database(database, task, measure_candidates, runner_results)


def add_to_database(
    database: Database,
    task: TaskRecord,
    candidates: Sequence[Any],
    results: Sequence[Any],
    supersede: bool = False,
) -> None:
    """Add results of candidates of a task, in place of earlier ones if `supersede` is set.

    Where they cannot be written (on a full disk), the database keeps them in memory, and tuning
    goes on.
    """
    try:
        workload = database.commit_workload(task.mod)
    except DatabaseError:
        workload = Workload(task.mod)  # is written with its records
    records = [
        TuningRecord(
            candidate.sch.trace,
            workload,
            result.run_secs if result.error_msg is None else None,
            task.target,
            candidate.args_info,
            cpu_secs=result.cpu_secs,
            error=result.error_msg,
            error_kind=result.error_kind,
            task_name=task.name,
            supersedes=supersede,
            is_default=candidate.is_default,
        )
        for candidate, result in zip(candidates, results, strict=True)
    ]
    try:
        database.commit_tuning_records(records)
    except DatabaseError as error:
        _logger.warning("%s", error)
