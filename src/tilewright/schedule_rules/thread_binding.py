"""Loops over the blocks and threads of devices."""

from __future__ import annotations

from typing import Final

from tilewright.schedule_rules.nest import DoesNotFitError, block_of, extent_of, loops_by_iterator
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of
from tilewright.target.gpu import compute_capability
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule

ELEMENT_THREADS: Final = 256
"""Number of threads of a block that share nothing."""

VECTOR_BYTES: Final = 16
"""The most that a thread loads at once."""

MOST_BLOCKS: Final = 65535
"""Maximum number of blocks of threads along y and z."""


def copies_in_background(target: Target) -> bool:
    """Whether a device copies into shared memory while threads compute.

    Of a device whose architecture is not known, that is hoped: older ones copy at once.
    """
    return target.kind.name == "cuda" and (not target.arch or compute_capability(target) >= 80)


def bind_loop(sch: Schedule, loop: LoopRV, target: Target, lanes: int = 1) -> LoopRV:
    """Bind a loop to blocks and threads, each of which runs some iterations as a vector.

    Returns:
        The loop over threads.

    Raises:
        DoesNotFitError: for a loop without iterations.
    """
    threads = min(ELEMENT_THREADS, accelerator_of(target).threads)
    extent = extent_of(sch, loop)
    if extent == 0:
        raise DoesNotFitError("it never runs")
    if extent is not None and extent <= threads:
        outer, inner = sch.split(loop, [1, None])
    elif lanes > 1:
        outer, inner, vector = sch.split(loop, [None, threads, lanes])
        sch.vectorize(vector)
    else:
        outer, inner = sch.split(loop, [None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    return inner


def bind_reduction(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Let a thread reduce in registers what one result, of each kind that there is, is made of.

    Raises:
        DoesNotFitError: for a block that is no reduction, has one result, or none.
        ScheduleError: if a step is refused.
    """
    stmt = block_of(sch, block)
    kinds = [item.iter_type for item in stmt.iter_vars]
    loops = [loops_by_iterator(sch, block)[item.var] for item in stmt.iter_vars]
    results, steps = (
        [loop for loop, its in zip(loops, kinds, strict=True) if its is kind]
        for kind in (IterType.DATA_PAR, IterType.COMM_REDUCE)
    )
    if stmt.init is None or not results or not steps:
        raise DoesNotFitError("it is no reduction, or has one result")
    if any(extent_of(sch, loop) == 0 for loop in loops):
        raise DoesNotFitError("it never runs")
    kept = [sch.cache_write(block, number, "local") for number in range(len(stmt.writes))]
    sch.reorder(*results, *steps)
    thread = bind_loop(sch, sch.fuse(*results), target)
    for copy in kept:
        sch.reverse_compute_at(copy, thread)


def bind_blocks(sch: Schedule, loops: list[LoopRV]) -> None:
    """Bind loops to the axes of blocks, all to one if there are too many for another one."""
    loops = [loop for loop in loops[:-1] if extent_of(sch, loop) != 1] + [loops[-1]]
    if any((extent_of(sch, loop) or 0) > MOST_BLOCKS for loop in loops[:-1]):
        loops = [sch.fuse(*loops)]
    for loop, axis in zip(reversed(loops), ("x", "y", "z"), strict=False):
        sch.bind(loop, f"blockIdx.{axis}")
