"""Reductions that the threads of a block compute together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.schedule_rules.nest import attempt
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.schedule.proofs.scope import buffers_written
from tilewright.tir.stmt import For
from tilewright.tune.rule.add_rfactor import fuse_reduction, needs_more_parallelism
from tilewright.tune.rule.block_facts import (
    block_of,
    constant,
    has_reuse,
    is_root,
    loop_types,
    loops_around,
)
from tilewright.tune.rule.gpu_limits import is_gpu, max_threads_per_block, thread_warp_size
from tilewright.tune.rule.schedule_rule import ScheduleRule
from tilewright.tune.rule.thread_binding import CHOSEN


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
        most = max_threads_per_block(self.target)
        if not needs_more_parallelism(sch, block, most, thread_warp_size(self.target)):
            return [sch]
        crossed = attempt(sch, lambda s: self._join_consumer(s, block)) or attempt(
            sch, lambda s: self._cross(s, block, self._choose_threads(s))
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
            return self._cross(sch, block, self._choose_threads(sch))
        loops = sch.get_loops(consumers[0])
        place, inner = loops[shared - 1], loops[-1]
        threads: Any = _threads_around(loops_around(sch, consumers[0]))
        if threads is None:
            threads = self._choose_threads(sch)
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

    def _choose_threads(self, sch: Schedule) -> Any:
        count = len(self.thread_extents)
        first = min(range(count), key=lambda n: abs(self.thread_extents[n] - CHOSEN))
        probs = [1.0 / count] * count
        return sch.sample_categorical(self.thread_extents, probs=probs, decision=first)


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
    extent = constant(one.extent)
    return extent is not None and extent == constant(two.extent)


def _threads_around(loops: Sequence[For]) -> int | None:
    """How many threads already run one of the loops."""
    for loop in loops:
        if loop.thread_binding is not None and loop.thread_binding.thread_tag == "threadIdx.x":
            return constant(loop.extent)
    return None
