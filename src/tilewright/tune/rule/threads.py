"""Rules that bind loops to the threads of a GPU, and its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.ir.expr import const_int_value
from tilewright.schedule_rules import decisions
from tilewright.schedule_rules.nest import attempt, block_of
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.schedule.proofs.scope import buffers_written
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tune.rule.add_rfactor import fuse_reduction, needs_more_parallelism
from tilewright.tune.rule.block_facts import (
    has_reuse,
    is_root,
    loop_roles,
    loop_types,
    loops_around,
)
from tilewright.tune.rule.schedule_rule import ScheduleRule, is_claimed


def is_gpu(target: Target) -> bool:
    """Whether its code runs as blocks of threads."""
    return "gpu" in target.keys


THREADBLOCKS: Final = 256
"""More blocks of threads than that, and each computes several parts of the result."""

CHOSEN: Final = 128
"""About how many threads of a block a sketch has before the search tries others."""

Choice = Callable[[Schedule, int], Any]
"""From the most threads that make sense to how many there are."""


def bind_to_threads(
    sch: Schedule, block: BlockRV, max_threadblocks: int, max_threads: int, choose: Choice
) -> None:
    """Bind the outer spatial loops of a block to ``blockIdx.x`` and ``threadIdx.x``.

    What is inside of loops that are bound to both stays as it is; for what is inside of threads
    only, the loops around these become the blocks of threads.

    Args:
        max_threadblocks: maximum number of blocks of threads.
        max_threads: maximum number of threads of a block.
        choose: says how many threads a block has.

    Raises:
        ScheduleError: if a loop cannot be bound.
    """
    loops = loops_around(sch, block)
    first_block, first_thread = _first_bound(loops, "blockIdx"), _first_bound(loops, "threadIdx")
    if first_block is not None:
        return
    count = _leading_spatial(sch, block, loops)
    references = sch.get_loops(block)
    if first_thread is not None:
        count = min(count, first_thread)
    if count == 0:
        place: Any = references[0] if references else block
        outer = sch.add_unit_loop(place)
    else:
        outer = sch.fuse(*references[:count])
    if first_thread is not None:
        sch.bind(outer, "blockIdx.x")
        return
    _bind_both(sch, outer, max_threadblocks, max_threads, choose)


def _bind_both(
    sch: Schedule, outer: LoopRV, max_threadblocks: int, max_threads: int, choose: Choice
) -> None:
    extent = const_int_value(sch.get(outer).extent)
    if extent is None or extent <= max_threadblocks * max_threads:
        threads = choose(sch, max_threads if extent is None else min(extent, max_threads))
        blocks, thread = sch.split(outer, [None, threads])
    else:
        threads = choose(sch, max_threads)
        rest, blocks, thread = sch.split(outer, [None, max_threadblocks, threads])
        sch.reorder(blocks, thread, rest)
    sch.bind(blocks, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")


def chosen_from(extents: Sequence[int]) -> Choice:
    """Let the search choose the number of threads.

    Args:
        extents: the numbers to choose from; those that are too large are left out.
    """

    def choose(sch: Schedule, most: int) -> Any:
        fitting = [extent for extent in extents if extent <= most]
        return _choose_threads(sch, fitting) if fitting else most

    return choose


def _choose_threads(sch: Schedule, counts: Sequence[int]) -> Any:
    return decisions.choose(sch, counts, min(counts, key=lambda count: abs(count - CHOSEN)))


def _first_bound(loops: Sequence[For], axis: str) -> int | None:
    """The position of the outermost loop that is bound to an axis of that name."""
    for n, loop in enumerate(loops):
        if loop.thread_binding is not None and loop.thread_binding.thread_tag.startswith(axis):
            return n
    return None


def _leading_spatial(sch: Schedule, block: BlockRV, loops: Sequence[For]) -> int:
    """How many of the outermost loops are spatial, one directly in the other."""
    count = 0
    for loop, role in zip(loops, loop_roles(sch, block), strict=True):
        if not role.is_spatial or not role.is_serial:
            break
        count += 1
        if not isinstance(loop.body, (For, BlockRealize)):
            break
    return count


class AutoBind(ScheduleRule):
    """Binds the outer loops of each block that is not bound yet to blocks of threads and threads.

    Args:
        max_threadblocks: maximum number of blocks of threads.
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
        most = accelerator_of(self.target).threads
        choose = chosen_from(self.thread_extents)
        bound = attempt(
            sch, lambda s: bind_to_threads(s, block, self.max_threadblocks, most, choose)
        )
        return [bound or sch]


class CrossThreadReduction(ScheduleRule):
    """Binds a part of the reduction to ``threadIdx.x``, where there are few results.

    If the only consumer goes through the same results, it is computed by the same threads, and the
    results stay in memory that these share.

    Args:
        thread_extents: numbers of threads, from which the search chooses.
    """

    def __init__(self, thread_extents: Sequence[int]) -> None:
        self.thread_extents = [int(extent) for extent in thread_extents]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` as it is, and with a reduction across threads."""
        if is_root(sch, block) or not is_gpu(self.target):
            return [sch]
        device = accelerator_of(self.target)
        if not needs_more_parallelism(sch, block, device.threads, device.warp):
            return [sch]
        crossed = attempt(sch, lambda s: self._join_consumer(s, block)) or attempt(
            sch, lambda s: self._cross(s, block, _choose_threads(s, self.thread_extents))
        )
        return [sch] if crossed is None else [crossed, sch]

    def _join_consumer(self, sch: Schedule, block: BlockRV) -> None:
        """Compute the block in the loops of its consumers, all by the same threads.

        Raises:
            ScheduleError: if that does not fit.
        """
        consumers = sch.get_consumers(block)
        shared = _shared_loops(sch, block, consumers)
        if shared is None:
            return self._cross(sch, block, _choose_threads(sch, self.thread_extents))
        loops = sch.get_loops(consumers[0])
        place, inner = loops[shared - 1], loops[-1]
        threads: Any = _threads_around(loops_around(sch, consumers[0]))
        if threads is None:
            threads = _choose_threads(sch, self.thread_extents)
            rest, thread = sch.split(inner, [None, threads])
            sch.bind(thread, "threadIdx.x")
            place = rest if place is inner else place
        sch.compute_at(block, place, preserve_unit_loops=True)
        sch.set_scope(block, 0, "shared")
        return self._cross(sch, block, threads)

    def _cross(self, sch: Schedule, block: BlockRV, threads: Any) -> None:
        _, reduction = fuse_reduction(sch, block)
        _, thread = sch.split(reduction, [None, threads])
        sch.bind(thread, "threadIdx.x")


def _shared_loops(sch: Schedule, block: BlockRV, consumers: Sequence[BlockRV]) -> int | None:
    """How many outer loops of its first consumer the block can be computed in; None for none."""
    if not consumers or len(buffers_written(block_of(sch, block))) != 1:
        return None
    if any(has_reuse(sch, consumer) for consumer in consumers):
        return None
    types = loop_types(sch, block)
    assert types is not None
    spatial = [
        loop
        for loop, kind in zip(loops_around(sch, block), types, strict=True)
        if kind is IterType.DATA_PAR
    ]
    around = loops_around(sch, consumers[0])
    for consumer in consumers[1:]:
        others = set(loops_around(sch, consumer))
        around = [loop for loop in around if loop in others]
    if not spatial or len(around) < len(spatial):
        return None
    pairs = zip(spatial, around, strict=False)
    return len(spatial) if all(_same_extent(one, two) for one, two in pairs) else None


def _same_extent(one: For, two: For) -> bool:
    extent = const_int_value(one.extent)
    return extent is not None and extent == const_int_value(two.extent)


def _threads_around(loops: Sequence[For]) -> int | None:
    """How many threads already run one of the loops."""
    for loop in loops:
        if loop.thread_binding is not None and loop.thread_binding.thread_tag == "threadIdx.x":
            return const_int_value(loop.extent)
    return None
