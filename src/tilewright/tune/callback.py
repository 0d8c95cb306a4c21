"""What happens after each batch of measurements."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentError, DatabaseError, UnknownNameError
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.database import Database, TuningRecord
from tilewright.tune.workload import Workload

if TYPE_CHECKING:
    from tilewright.tune.measure import BuilderResult, RunnerResult
    from tilewright.tune.scheduler.task_record import TaskRecord
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
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
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
    """The default callbacks."""
    return [AddToDatabase(), RemoveBuildArtifact(), UpdateCostModel()]


_logger = logging.getLogger(__name__)


class AddToDatabase(MeasureCallback):
    """Adds every candidate, also those that failed, to a database.

    Args:
        database: the database; by default that of the scheduler.
    """

    def __init__(self, database: Database | None = None) -> None:
        self.database = database

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Add a batch."""
        task = task_scheduler.tasks[task_id]
        self.add(task_scheduler, task, measure_candidates, runner_results)

    def add(
        self,
        task_scheduler: TaskScheduler,
        task: TaskRecord,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
        supersede: bool = False,
    ) -> None:
        """Add results of candidates of a task, in place of earlier ones if `supersede` is set."""
        database = self.database or task_scheduler.database
        if database is not None:
            add_to_database(database, task, candidates, results, supersede)


def add_to_database(
    database: Database,
    task: TaskRecord,
    candidates: Sequence[MeasureCandidate],
    results: Sequence[RunnerResult],
    supersede: bool = False,
) -> None:
    """Add results of candidates of a task, in place of earlier ones if `supersede` is set.

    If they cannot be written (on a full disk), the database keeps them in memory, and tuning
    continues.
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
            machine=result.machine or task.ctx.machine,
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


class RemoveBuildArtifact(MeasureCallback):
    """Deletes the files that the builder made, and their directories when they are empty."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Delete the files of a batch."""
        remove_artifacts(builder_results)


def remove_artifacts(builder_results: Iterable[BuilderResult]) -> None:
    """Delete the files of builds, if there are any."""
    for result in builder_results:
        if result.artifact_path is not None:
            remove(Path(result.artifact_path))


def remove(path: Path) -> None:
    """Delete a file, or a directory with all that is in it, and its parent if it is empty then."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:
        return  # other artifacts are there


class UpdateCostModel(MeasureCallback):
    """Shows every candidate that was measured to the cost model of the scheduler."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Learn from a batch."""
        model = task_scheduler.cost_model
        built = [r.artifact_path is not None for r in builder_results]
        if model is None or not any(built) or task_scheduler.tasks[task_id].is_estimated:
            return
        candidates = [c for c, kept in zip(measure_candidates, built, strict=True) if kept]
        results = [r for r, kept in zip(runner_results, built, strict=True) if kept]
        model.update(task_scheduler.tasks[task_id].ctx, candidates, results)
