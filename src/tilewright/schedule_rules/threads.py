"""The default schedule for devices: loops of each block over blocks of threads.

Products are made in tiles; see `thread_products`. Threads of a block share long reductions; see
`thread_rows`. All other blocks compute elements by themselves; see `thread_elements`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright.schedule_rules.inline import inline_producers
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    attempt,
    block_of,
    loops_by_iterator,
)
from tilewright.schedule_rules.tensor_core_products import tile_product_by_tensor_cores
from tilewright.schedule_rules.thread_binding import bind_loop, bind_reduction
from tilewright.schedule_rules.thread_elements import bind_elements, bind_transposition
from tilewright.schedule_rules.thread_products import split_product, tile_product
from tilewright.schedule_rules.thread_rows import share_reductions
from tilewright.target import Target
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, Schedule


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
        for rule in (tile_product_by_tensor_cores, split_product, tile_product):
            tiled = attempt(sch, partial(rule, block=block, target=target))
            if tiled is not None:
                sch = tiled
                break
        else:
            others.append(block)
    sch, others = share_reductions(sch, others, target)
    for block in others:
        sch = bind_block(sch, block, target)
    return sch


def bind_block(sch: Schedule, block: BlockRV, target: Target) -> Schedule:
    """The schedule with a block that shares nothing bound to blocks and threads.

    What has to run in order, or is in the loops of another block, is done by one thread. A block
    that has gone into a product stays as it is.
    """
    for step in (
        bind_transposition, bind_reduction, bind_elements, _bind_rows_inside, _bind_one_thread,
    ):  # fmt: skip
        found = attempt(sch, partial(step, block=block, target=target))
        if found is not None:
            return found
    return sch


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
        bind_loop(sch, sch.fuse(*loops.values()), target)


def _bind_one_thread(sch: Schedule, block: BlockRV, target: Target) -> None:
    del target
    loops = sch.get_loops(block)
    if loops and sch.get(loops[0]).thread_binding is not None:
        return  # with another block of the same loops
    one = sch.add_unit_loop(loops[0] if loops else block)
    sch.bind(one, "threadIdx.x")
