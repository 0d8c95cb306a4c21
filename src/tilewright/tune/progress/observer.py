"""What can be watched while the tuner runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_record import TaskRecord
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler


class TuningObserver:
    """Is told what happens; subclasses define what they want to know."""

    def begin(self, scheduler: TaskScheduler) -> None:
        """The tasks and the budget of `scheduler` are set."""

    def task_begins(self, task: TaskRecord, spaces: Sequence[Any]) -> None:
        """The sketches `spaces` of a task were made."""

    def task_picked(self, task: TaskRecord) -> None:
        """A task gets the next batch."""

    def sending(self, task: TaskRecord, count: int, where: str) -> None:
        """Candidates go to the ``"builder"`` or wait for the ``"runner"``."""

    def built(self, task: TaskRecord, result: Any) -> None:
        """A candidate was built, or could not be."""

    def measured(self, task: TaskRecord, result: Any) -> None:
        """A candidate was measured, or failed."""

    def batch_ends(self, task: TaskRecord) -> None:
        """The results of a batch were taken in."""

    def task_ends(self, task: TaskRecord, reason: str) -> None:
        """A task gets no more trials."""

    def failed(self, messages: Sequence[str]) -> None:
        """Of some tasks, but not of all, no candidate ran; a message for each."""

    def end(self, scheduler: TaskScheduler) -> None:
        """The run has ended, for whatever reason."""
