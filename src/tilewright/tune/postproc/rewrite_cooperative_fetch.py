"""Lets all threads of a block fill the memory that they share."""

from __future__ import annotations

from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tune.postproc.functions import blocks_inside, root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import block_of, constant, loops_around
from tilewright.tune.rule.read_reuse import COOPERATIVE_FETCH

AXES = ("threadIdx.z", "threadIdx.y", "threadIdx.x")


class RewriteCooperativeFetch(Postproc):
    """Splits the copies that `MultiLevelTiling` has marked among the threads around them.

    Each thread copies as many elements at once as the annotation says.
    """

    def apply(self, sch: Schedule) -> bool:
        """Split all marked copies; rejects a candidate in which that is not legal."""
        for tree in trees_of(sch):
            for block in blocks_inside(sch, root_of(sch, tree)):
                lanes = block_of(sch, block).annotations.get(COOPERATIVE_FETCH)
                if lanes is None:
                    continue
                sch.unannotate(block, COOPERATIVE_FETCH)
                try:
                    _fetch(sch, block, int(lanes))
                except ScheduleError:
                    return False
        return True


def _fetch(sch: Schedule, block: BlockRV, lanes: int) -> None:
    threads = _threads_around(sch, block)
    factors = [*(count for _, count in threads), *([lanes] if lanes > 1 else [])]
    if not factors:
        return
    _, *parts = sch.split(sch.get_loops(block)[-1], [None, *factors])
    if lanes > 1:
        sch.vectorize(parts.pop())
    for (axis, _), part in zip(threads, parts, strict=True):
        sch.bind(part, axis)


def _threads_around(sch: Schedule, block: BlockRV) -> list[tuple[str, int]]:
    """The axes to which loops around a block are bound, with the number of threads of each."""
    found: dict[str, int] = {}
    for loop in loops_around(sch, block):
        extent = constant(loop.extent)
        if loop.thread_binding is not None and extent is not None:
            found[loop.thread_binding.thread_tag] = extent
    return [(axis, found[axis]) for axis in AXES if axis in found]
