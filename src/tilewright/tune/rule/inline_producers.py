"""`InlineProducers`: producers that are computed where they are read."""

from __future__ import annotations

from tilewright.schedule_rules.inline import inlined
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.schedule_rule import ScheduleRule


class InlineProducers(ScheduleRule):
    """Inlines a block for which reading its results takes longer than computing them again.

    It is what the default schedule does, too; see `default_schedule`.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """One sketch."""
        if inlined(sch.copy(), block) is None:
            return [sch]
        sketch = sch.copy()
        sketch.compute_inline(block)
        return [sketch]
