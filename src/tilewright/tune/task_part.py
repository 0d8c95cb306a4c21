"""What the parts of the tuner that work on one task have in common."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tilewright.target import Target

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.tune.context import TuneContext


class TaskPart:
    """A part of the tuner that is told its task, and cloned for other tasks."""

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take what is needed of the task; called before anything else.

        Args:
            context: the task.
        """

    def clone(self) -> Self:
        """One like this for another task."""
        return copy.copy(self)


class TargetPart(TaskPart):
    """A part that wants to know the target.

    Attributes:
        target: what the schedule is for. Without a task it is the current target, and without
            that one this machine.
    """

    _target: Target | None = None

    @property
    def target(self) -> Target:
        """What the schedule is for."""
        return self._target or Target.current() or Target("llvm")

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take the target of the task."""
        self._target = context.target
