"""`ScheduleRule`: one way to schedule a block."""

from __future__ import annotations

from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.parts import Registry, TargetPart

RULE_SETS: Registry[list[ScheduleRule]] = Registry("list of schedule rules for")
"""The rules for a kind of target, in the order in which they are applied."""


class ScheduleRule(TargetPart):
    """Makes sketches of a schedule of one block.

    Subclasses define `apply`.

    Attributes:
        takes_annotated_blocks: whether it is for blocks with the annotation ``schedule_rule``,
            which other rules are not applied to.
    """

    takes_annotated_blocks: bool = False

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

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The rules for a kind of target, new ones every time.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"vnni"``, ``"avx512"``, ``"dotprod"``, ``"cuda"``,
                ``"cuda-tensorcore"``, ``"opencl"`` or ``"hexagon"``.
        """
        return RULE_SETS.make(kind)
