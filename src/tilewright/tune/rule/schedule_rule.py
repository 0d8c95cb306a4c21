"""`ScheduleRule`: one way to schedule a block."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tilewright.target import Target
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.registry import Registry

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext

RULE_SETS: Registry[list[ScheduleRule]] = Registry("list of schedule rules for")
"""The rules for a kind of target, in the order in which they are applied."""


class ScheduleRule:
    """Makes sketches of a schedule of one block.

    Subclasses define `apply`.

    Attributes:
        target: what the schedule is for. Without a task it is the current target, and without
            that one this machine.
        takes_annotated_blocks: whether it is for blocks with the annotation ``schedule_rule``,
            which other rules are not applied to.
    """

    takes_annotated_blocks: bool = False
    _target: Target | None = None

    @property
    def target(self) -> Target:
        """What the schedule is for."""
        return self._target or Target.current() or Target("llvm")

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take what is needed of the task; called before anything else.

        Args:
            context: the task.
        """
        self._target = context.target

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules that this rule makes of one.

        Args:
            sch: the schedule so far; the rule may change it.
            block: the block to look at.

        Returns:
            Schedules; `sch` itself where there is nothing to do.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define apply(self, sch, block), which returns a list of "
            "schedules"
        )

    def clone(self) -> ScheduleRule:
        """A rule like this one for another task."""
        return copy.copy(self)

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The rules for a kind of target, new ones every time.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"vnni"``, ``"avx512"``, ``"dotprod"``, ``"cuda"``,
                ``"cuda-tensorcore"``, ``"opencl"`` or ``"hexagon"``.
        """
        return RULE_SETS.make(kind)
