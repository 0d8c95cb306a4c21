"""Binding the loops of a block to blocks of threads and threads of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tune.rule.block_facts import constant, loops_around
from tilewright.tune.rule.loop_roles import loop_roles

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
        sch: the schedule.
        block: the block.
        max_threadblocks: how many blocks of threads there are at the most.
        max_threads: how many threads a block has at the most.
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
    extent = constant(sch.get(outer).extent)
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
        if len(fitting) <= 1:
            return fitting[0] if fitting else most
        first = min(range(len(fitting)), key=lambda n: abs(fitting[n] - CHOSEN))
        probs = [1.0 / len(fitting)] * len(fitting)
        return sch.sample_categorical(fitting, probs=probs, decision=first)

    return choose


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
