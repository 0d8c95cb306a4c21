"""Postprocessors that bind loops to threads, and use tensor intrinsics."""

from __future__ import annotations

import math

from tilewright.error import require_at_least
from tilewright.ir.expr import const_int_value
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.nest import block_of
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.stmt import Block, For
from tilewright.tune.postproc.postproc import Postproc, blocks_inside, root_of, trees_of
from tilewright.tune.rule.block_facts import loops_around
from tilewright.tune.rule.multi_level_tiling_tensor_core import WARP_EXECUTION
from tilewright.tune.rule.multi_level_tiling_with_intrin import AUTO_TENSORIZE
from tilewright.tune.rule.reuse import COOPERATIVE_FETCH
from tilewright.tune.rule.threads import (
    THREADBLOCKS,
    bind_to_threads,
)


class RewriteUnboundBlock(Postproc):
    """Binds the outer loops of blocks outside of threads to blocks of threads and threads.

    Args:
        max_threadblocks: maximum number of blocks of threads.
    """

    def __init__(self, max_threadblocks: int = THREADBLOCKS) -> None:
        require_at_least("RewriteUnboundBlock: max_threadblocks", max_threadblocks, 1)
        self.max_threadblocks = max_threadblocks

    def apply(self, sch: Schedule) -> bool:
        """Bind all that is unbound; rejects a candidate in which that is not legal."""
        most = accelerator_of(self.target).threads
        for tree in trees_of(sch):
            for block in sch.get_child_blocks(root_of(sch, tree)):
                try:
                    bind_to_threads(sch, block, self.max_threadblocks, most, _as_many_as_fit)
                except ScheduleError:
                    return False
        return True


def _as_many_as_fit(sch: Schedule, most: int) -> int:
    return most


AXES = ("threadIdx.z", "threadIdx.y", "threadIdx.x")


class RewriteCooperativeFetch(Postproc):
    """Splits the copies that `MultiLevelTiling` has marked among the threads of their kernel.

    Each thread copies as many elements at once as the annotation says, or a part of that where it
    would not be the same for all threads.
    """

    def apply(self, sch: Schedule) -> bool:
        """Split all marked copies; rejects a candidate in which that is not legal."""
        warp = accelerator_of(self.target).warp
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
    loop = sch.get_loops(block)[-1]
    counts = [count for _, count in threads]
    lanes = _fitting(const_int_value(sch.get(loop).extent), math.prod(counts), lanes)
    factors = [*counts, *([lanes] if lanes > 1 else [])]
    if not factors:
        return
    _, *parts = sch.split(loop, [None, *factors])
    if lanes > 1:
        sch.vectorize(parts.pop())
    for (axis, _), part in zip(threads, parts, strict=True):
        sch.bind(part, axis)


def _fitting(extent: int | None, threads: int, lanes: int) -> int:
    """How many elements each thread copies at once, so that there is the same for all threads.

    A vector cannot be cut off, so where they have different numbers of elements, it is one.
    """
    fewer = [n for n in range(lanes, 1, -1) if lanes % n == 0]
    return next((n for n in fewer if extent is not None and extent % (n * threads) == 0), 1)


def _threads_of_kernel(sch: Schedule, block: BlockRV, warp: int) -> list[tuple[str, int]]:
    """The axes to which loops of the outermost nest of a block are bound, with their extents.

    Where threads of a warp execute a block together, they are the first axis.
    """
    outermost = loops_around(sch, block)[0]
    found: dict[str, int] = {}
    for node in walk(outermost):
        if isinstance(node, For) and node.thread_binding is not None:
            found.setdefault(node.thread_binding.thread_tag, const_int_value(node.extent) or 1)
        elif isinstance(node, Block) and WARP_EXECUTION in node.annotations:
            found["threadIdx.x"] = warp
    return [(axis, found[axis]) for axis in AXES if axis in found]


class RewriteTensorize(Postproc):
    """Replaces blocks that have the annotation `meta_schedule.auto_tensorize`.

    Args:
        vectorize_init_loop: whether initialisations of such blocks, for which there is no
            intrinsic, become vectors.
    """

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """Replace all of them; rejects a candidate in which one is not what is described."""
        for tree in trees_of(sch):
            for block, name in _marked(sch, root_of(sch, tree)):
                sch.unannotate(block, AUTO_TENSORIZE)
                done = _tensorize(sch, block, name) if name else self._vectorize(sch, block)
                if not done:
                    return False
        return True

    def _vectorize(self, sch: Schedule, block: BlockRV) -> bool:
        if self.vectorize_init_loop:
            for inner in sch.get_child_blocks(block):
                try:
                    sch.vectorize(sch.get_loops(inner)[-1])
                except ScheduleError:
                    return False
        return True


def _marked(sch: Schedule, root: BlockRV) -> list[tuple[BlockRV, str]]:
    """The blocks that are to be replaced, with the names of the intrinsics."""
    found = []
    for block in blocks_inside(sch, root):
        name = block_of(sch, block).annotations.get(AUTO_TENSORIZE)
        if name is not None:
            found.append((block, str(getattr(name, "value", name))))
    return found


def _tensorize(sch: Schedule, block: BlockRV, name: str) -> bool:
    try:
        sch.tensorize(block, name)
    except ScheduleError:
        return False
    return True
