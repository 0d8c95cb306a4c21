"""The default schedule for devices: loops of each block over blocks of threads.

Products are made in tiles; see `thread_products`. Threads of a block share long reductions; see
`thread_rows`. All other blocks compute an element per thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import const_int_value
from tilewright.schedule_rules.inline import inline_producers
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    attempt,
    block_of,
    loops_by_iterator,
    plain_nest,
)
from tilewright.schedule_rules.thread_products import tile_product
from tilewright.schedule_rules.thread_rows import share_reductions
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule

ELEMENT_THREADS: Final = 256
"""Number of threads of a block that computes elements."""


def schedule_for_threads(sch: Schedule, blocks: Sequence[BlockRV], target: Target) -> Schedule:
    """The schedule with all loops of a function bound to blocks and threads.

    Args:
        sch: a schedule that works on the function.
        blocks: the blocks of the function, in order.
        target: the device.
    """
    sch, left = inline_producers(sch, blocks)
    others: list[BlockRV] = []
    for block in left:  # products first, which take in what is around them
        tiled = attempt(sch, lambda s, b=block: tile_product(s, b, target))
        if tiled is None:
            others.append(block)
        else:
            sch = tiled
    sch, others = share_reductions(sch, others, target)
    for block in others:
        sch = bind_elements(sch, block, target)
    return sch


def bind_elements(sch: Schedule, block: BlockRV, target: Target) -> Schedule:
    """The schedule with a thread for each element that a block computes.

    What has to run in order, or is in the loops of another block, is done by one thread. A block
    that has gone into a product stays as it is.
    """
    for step in (_bind_spatial, _bind_rows_inside, _bind_one_thread):
        found = attempt(sch, partial(step, block=block, target=target))
        if found is not None:
            return found
    return sch


def _bind_spatial(sch: Schedule, block: BlockRV, target: Target) -> None:
    nest = plain_nest(sch, block)
    if 0 in nest.accesses.extents.values():
        raise DoesNotFitError("it never runs")
    kinds = {item.var: item.iter_type for item in block_of(sch, block).iter_vars}
    spatial = [nest.loops[var] for var, kind in kinds.items() if kind is IterType.DATA_PAR]
    others = [nest.loops[var] for var, kind in kinds.items() if kind is not IterType.DATA_PAR]
    if not spatial:
        raise DoesNotFitError("it computes one element")
    if others:
        sch.reorder(*spatial, *others)
    _bind_split(sch, sch.fuse(*spatial), _most_threads(target))


def _most_threads(target: Target) -> int:
    return min(ELEMENT_THREADS, accelerator_of(target).threads)


def _bind_split(sch: Schedule, loop: LoopRV, threads: int) -> None:
    extent = const_int_value(sch.get(loop).extent)
    if extent == 0:
        raise DoesNotFitError("it never runs")
    if extent is not None and extent <= threads:
        outer, inner = sch.split(loop, [1, None])
    else:
        outer, inner = sch.split(loop, [None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


def _bind_rows_inside(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Give a thread each row that a program, such as one that sorts, computes."""
    rows = sch.get_child_blocks(block)
    if not rows:
        raise DoesNotFitError("it has no blocks")
    for row in rows:
        kinds = [item.iter_type for item in block_of(sch, row).iter_vars]
        loops = loops_by_iterator(sch, row)
        if not kinds or len(kinds) != len(loops) or set(kinds) != {IterType.DATA_PAR}:
            raise DoesNotFitError("its rows are not independent")
        _bind_split(sch, sch.fuse(*loops.values()), _most_threads(target))


def _bind_one_thread(sch: Schedule, block: BlockRV, target: Target) -> None:
    del target
    loops = sch.get_loops(block)
    if loops and sch.get(loops[0]).thread_binding is not None:
        return  # with another block of the same loops
    one = sch.add_unit_loop(loops[0] if loops else block)
    sch.bind(one, "threadIdx.x")
