"""Blocks that no other rule has bound to threads."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.schedule_rules.nest import attempt
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.block_facts import is_root
from tilewright.tune.rule.claim import is_claimed
from tilewright.tune.rule.gpu_limits import max_threads_per_block
from tilewright.tune.rule.schedule_rule import ScheduleRule
from tilewright.tune.rule.thread_binding import THREADBLOCKS, bind_to_threads, chosen_from


class AutoBind(ScheduleRule):
    """Binds the outer loops of each block that is not bound yet to blocks of threads and threads.

    Args:
        max_threadblocks: how many blocks of threads there are at the most.
        thread_extents: numbers of threads of a block, from which the search chooses; by default
            the powers of two from 32 to 1024.
    """

    def __init__(
        self, max_threadblocks: int = THREADBLOCKS, thread_extents: Sequence[int] | None = None
    ) -> None:
        self.max_threadblocks = max_threadblocks
        extents = [32, 64, 128, 256, 512, 1024] if thread_extents is None else thread_extents
        self.thread_extents = [int(extent) for extent in extents]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` with the loops of the block bound."""
        if is_root(sch, block) or is_claimed(sch, block):
            return [sch]
        most = max_threads_per_block(self.target)
        choose = chosen_from(self.thread_extents)
        bound = attempt(
            sch, lambda s: bind_to_threads(s, block, self.max_threadblocks, most, choose)
        )
        return [bound or sch]
