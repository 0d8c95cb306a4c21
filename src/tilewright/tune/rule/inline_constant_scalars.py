"""Constants that are computed in a block of their own."""

from __future__ import annotations

from tilewright.schedule_rules.nest import attempt
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.stmt import BufferStore
from tilewright.tune.rule.block_facts import block_of, constant, is_output, is_root
from tilewright.tune.rule.schedule_rule import ScheduleRule


class InlineConstantScalars(ScheduleRule):
    """Inlines blocks that write one element, which depends on nothing, into their consumers."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` without the block if it is such a constant."""
        if is_root(sch, block) or is_output(sch, block):
            return [sch]
        found = block_of(sch, block)
        if found.reads or len(found.writes) != 1 or not isinstance(found.body, BufferStore):
            return [sch]
        if any(constant(extent) != 1 for extent in found.writes[0].buffer.shape):
            return [sch]
        return [attempt(sch, lambda s: s.compute_inline(block)) or sch]
