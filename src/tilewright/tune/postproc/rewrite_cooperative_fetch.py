"""Lets all threads of a block fill the memory that they share."""

from __future__ import annotations

from tilewright.ir.rewrite import walk
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.stmt import Block, For
from tilewright.tune.postproc.functions import blocks_inside, root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import block_of, constant, loops_around
from tilewright.tune.rule.gpu_limits import thread_warp_size
from tilewright.tune.rule.multi_level_tiling_tensor_core import WARP_EXECUTION
from tilewright.tune.rule.read_reuse import COOPERATIVE_FETCH

AXES = ("threadIdx.z", "threadIdx.y", "threadIdx.x")


class RewriteCooperativeFetch(Postproc):
    """Splits the copies that `MultiLevelTiling` has marked among the threads of their kernel.

    Each thread copies as many elements at once as the annotation says.
    """

    def apply(self, sch: Schedule) -> bool:
        """Split all marked copies; rejects a candidate in which that is not legal."""
        warp = thread_warp_size(self.target)
        for tree in trees_of(sch):
            for block in blocks_inside(sch, root_of(sch, tree)):
                lanes = block_of(sch, block).annotations.get(COOPERATIVE_FETCH)
                if lanes is None:
                    continue
                sch.unannotate(block, COOPERATIVE_FETCH)
                try:
                    _fetch(sch, block, int(lanes), warp)
                except ScheduleError:
                    return False
        return True


def _fetch(sch: Schedule, block: BlockRV, lanes: int, warp: int) -> None:
    threads = _threads_of_kernel(sch, block, warp)
    factors = [*(count for _, count in threads), *([lanes] if lanes > 1 else [])]
    if not factors:
        return
    _, *parts = sch.split(sch.get_loops(block)[-1], [None, *factors])
    if lanes > 1:
        sch.vectorize(parts.pop())
    for (axis, _), part in zip(threads, parts, strict=True):
        sch.bind(part, axis)


def _threads_of_kernel(sch: Schedule, block: BlockRV, warp: int) -> list[tuple[str, int]]:
    """The axes to which loops of the outermost nest of a block are bound, with their extents.

    Where threads of a warp execute a block together, they are the first axis.
    """
    outermost = loops_around(sch, block)[0]
    found: dict[str, int] = {}
    for node in walk(outermost):
        if isinstance(node, For) and node.thread_binding is not None:
            found.setdefault(node.thread_binding.thread_tag, constant(node.extent) or 1)
        elif isinstance(node, Block) and WARP_EXECUTION in node.annotations:
            found["threadIdx.x"] = warp
    return [(axis, found[axis]) for axis in AXES if axis in found]
