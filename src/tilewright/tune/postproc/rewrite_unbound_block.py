"""Binds what no rule has bound to threads."""

from __future__ import annotations

from tilewright.error import ArgumentValueError
from tilewright.tir.schedule import Schedule, ScheduleError
from tilewright.tune.postproc.functions import root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.gpu_limits import max_threads_per_block
from tilewright.tune.rule.thread_binding import THREADBLOCKS, bind_to_threads


class RewriteUnboundBlock(Postproc):
    """Binds the outer loops of blocks outside of threads to blocks of threads and threads.

    Args:
        max_threadblocks: how many blocks of threads there are at the most.
    """

    def __init__(self, max_threadblocks: int = THREADBLOCKS) -> None:
        if max_threadblocks < 1:
            raise ArgumentValueError(
                f"RewriteUnboundBlock: max_threadblocks is at least 1, got {max_threadblocks}"
            )
        self.max_threadblocks = max_threadblocks

    def apply(self, sch: Schedule) -> bool:
        """Bind all that is unbound; rejects a candidate in which that is not legal."""
        most = max_threads_per_block(self.target)
        for tree in trees_of(sch):
            for block in sch.get_child_blocks(root_of(sch, tree)):
                try:
                    bind_to_threads(sch, block, self.max_threadblocks, most, _as_many_as_fit)
                except ScheduleError:
                    return False
        return True


def _as_many_as_fit(sch: Schedule, most: int) -> int:
    return most
