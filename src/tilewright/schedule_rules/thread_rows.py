"""Rows on devices: the threads of a block reduce a row together.

A reduction with few results, or along what is next to each other in memory, has a block of threads
for each result, or for a few. What comes before and after the reduction of a row (as in a softmax:
a maximum, exponentials, their sum, quotients) is done by the same threads in the same kernel.
Where results are next to each other instead, threads of one row of the block have neighbours, and
the rows of the block share the reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from tilewright.ir.expr import Expr, const_int_value, constant_product
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    Nest,
    accepts,
    attempt,
    block_of,
    is_plain,
    loops_inside,
    plain_nest,
    realize_of,
)
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tir.substitute import variables_of

ROW_THREADS: Final = 256
"""Maximum number of threads that reduce a row."""

BLOCK_THREADS: Final = 128
"""Number of threads of a block that reduces several short rows."""

WARP: Final = 32
"""Number of threads that run in step; fewer do not share a reduction."""

MOST_VECTORS: Final = 8
"""Maximum number of vectors that a matrix is multiplied with at once."""

FEW: Final = 1 << 14
"""Number of results from which on a thread for each keeps a device busy."""

PART: Final = 1 << 14
"""Number of elements of a part of a reduction that has one result only."""

SHARED_BYTES: Final = 1 << 15
"""Size of what is kept of the rows of a block in shared memory; the rest is elsewhere."""


def share_reductions(
    sch: Schedule, blocks: Sequence[BlockRV], target: Target
) -> tuple[Schedule, list[BlockRV]]:
    """The schedule with reductions of rows bound to threads that share them.

    Args:
        sch: a schedule that works on the function.
        blocks: blocks that have no schedule, in order.
        target: the device.

    Returns:
        The schedule, and the blocks that still have none.
    """
    alone = [block for block in blocks if not _is_plain(sch, block)]
    left = [block for block in blocks if block not in alone]
    while left:
        last = left[-1]
        made = _kernel_of_rows(sch, left, target)
        if made is not None:
            sch, members = made
        else:
            columns = attempt(sch, partial(_bind_columns, block=last, target=target))
            if columns is None:
                alone.append(last)
            sch, members = columns or sch, [last]
        left = [block for block in left if block not in members]
    return sch, [block for block in blocks if block in alone]


# --- which reductions -----------------------------------------------------------------------------


def _reduces(nest: Nest) -> bool:
    """Whether a block is a reduction that threads could share, and long enough for that."""
    reduction = nest.accesses.reduces
    if reduction is None or not reduction.is_order_free:
        return False
    accesses = nest.accesses
    return accesses.count(accesses.reduction) >= WARP and accesses.count(accesses.spatial) > 0


def _is_plain(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is still there, and has no schedule."""
    try:
        return is_plain(sch, block)
    except ScheduleError:
        return False


def _is_along_rows(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block reduces what is next to each other, or has one result."""
    nest = plain_nest(sch, block)
    if not _reduces(nest):
        return False
    inner = nest.innermost()
    return not nest.accesses.spatial or (inner is not None and nest.reduces_along(inner))


# --- rows -----------------------------------------------------------------------------------------


def _kernel_of_rows(
    sch: Schedule, blocks: Sequence[BlockRV], target: Target
) -> tuple[Schedule, list[BlockRV]] | None:
    """A kernel of the last block and those that it needs of the same row."""
    for step in (_bind_parts, _bind_few_rows):
        alone = attempt(sch, partial(step, block=blocks[-1], target=target))
        if alone is not None:
            return alone, [blocks[-1]]
    reductions = [block for block in blocks if _is_along_rows(sch, block)]
    dimensions = [len(plain_nest(sch, block).accesses.spatial) for block in reversed(reductions)]
    for rows in dict.fromkeys(dimensions):
        members: list[BlockRV] = []
        step = partial(_bind_rows, blocks=blocks, rows=rows, target=target, members=members)
        made = attempt(sch, step)
        if made is not None:
            return made, members
    return None


def _bind_rows(
    sch: Schedule, blocks: Sequence[BlockRV], rows: int, target: Target, members: list[BlockRV]
) -> None:
    """Compute the last block row by row, with what it needs of the same row.

    Args:
        sch: the schedule.
        blocks: blocks that have no schedule, in order.
        rows: number of the first dimensions of the last block that count rows.
        target: the device.
        members: to which the blocks of the kernel are added.
    """
    last = blocks[-1]
    nest = plain_nest(sch, last)
    spatial, reduced = nest.of(nest.accesses.spatial), nest.of(nest.accesses.reduction)
    if len(spatial) < rows:
        raise DoesNotFitError("it has fewer dimensions")
    reductions = [block for block in blocks if _is_along_rows(sch, block)]
    if reduced:
        sch.reorder(*spatial, *reduced)
    lengths = [_row_length(sch, block) for block in reductions]
    threads = min(1 << (max(lengths).bit_length() - 1), ROW_THREADS, accelerator_of(target).threads)
    row = sch.fuse(*spatial[:rows]) if rows else sch.add_unit_loop(_outermost(sch, last))
    count = const_int_value(sch.get(row).extent)
    # Several of an unknown number of rows, counted along two dimensions, are at places whose
    # distances are not known, so that memory for them has no known size.
    is_alone = count == 1 or (count is None and rows > 1)
    together = 1 if is_alone else max(BLOCK_THREADS // threads, 1)
    axes = ["blockIdx.x"]
    place = row
    if together > 1:
        row, place = sch.split(row, [None, together])
        axes.append("threadIdx.y")
    members.append(last)
    room = SHARED_BYTES // together
    for block in reversed(blocks[:-1]):
        if not _is_needed_by(sch, block, members):
            continue
        if accepts(lambda block=block: sch.compute_at(block, place)):
            members.append(block)
            room -= _keep_in_shared_memory(sch, block, place, room)
    if not any(block in members for block in reductions):
        raise DoesNotFitError("no reduction is computed with it")
    for block in members:
        _bind_in_row(sch, block, len(axes), threads)
    for loop, axis in zip((row, place), axes, strict=False):
        sch.bind(loop, axis)


def _outermost(sch: Schedule, block: BlockRV) -> LoopRV | BlockRV:
    loops = sch.get_loops(block)
    return loops[0] if loops else block


def _row_length(sch: Schedule, block: BlockRV) -> int:
    accesses = plain_nest(sch, block).accesses
    return accesses.count(accesses.reduction)


def _is_needed_by(sch: Schedule, block: BlockRV, members: Sequence[BlockRV]) -> bool:
    """Whether some of the blocks read what a block computes, and no others do."""
    consumers = {block_of(sch, consumer).key for consumer in sch.get_consumers(block)}
    return bool(consumers) and consumers <= {block_of(sch, member).key for member in members}


def _keep_in_shared_memory(sch: Schedule, block: BlockRV, row: LoopRV, room: int) -> int:
    """Keep what a block computes of a row in shared memory, if there is room for it.

    Returns:
        Its size in bytes; 0 where it stays where it is.
    """
    loops = loops_inside(sch, block, row)
    along = _reduction_loops(sch, block, loops)
    count = constant_product(sch.get(loop).extent for loop in loops if loop not in along)
    buffers = [region.buffer for region in block_of(sch, block).writes]
    if count is None:
        return 0
    sizes = [count * buffer.dtype.itemsize for buffer in buffers]
    if sum(sizes) > room:
        return 0
    used = 0
    for number, size in enumerate(sizes):
        with suppress(ScheduleError):  # results of the function
            sch.set_scope(block, number, "shared")
            used += size
    return used


def _bind_in_row(sch: Schedule, block: BlockRV, outer: int, threads: int) -> None:
    """Bind what a block does for a row to the threads along ``threadIdx.x``."""
    loops = sch.get_loops(block)[outer:]
    along = _reduction_loops(sch, block, loops)
    if along:
        others = [loop for loop in loops if loop not in along]
        if any(const_int_value(sch.get(loop).extent) != 1 for loop in others):
            raise DoesNotFitError("it has several results for each row")
        loops = along
    if loops:
        sch.bind(sch.split(sch.fuse(*loops), [None, threads])[1], "threadIdx.x")


def _reduction_loops(sch: Schedule, block: BlockRV, loops: Sequence[LoopRV]) -> list[LoopRV]:
    realize = realize_of(sch, block)
    reduced = {
        var
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if item.iter_type is IterType.COMM_REDUCE
        for var in variables_of(value)
    }
    return [loop for loop in loops if sch.get(loop).loop_var in reduced]


def _bind_parts(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Reduce to one result in two kernels: parts by many blocks of threads, and these by one."""
    nest = plain_nest(sch, block)
    accesses = nest.accesses
    count = accesses.known_count(accesses.reduction)
    if not _reduces(nest) or nest.own or count is None or count < 2 * PART:
        raise DoesNotFitError("it has several results, or is short")
    outer, _ = sch.split(sch.fuse(*nest.of(accesses.reduction)), [None, PART])
    parts = sch.rfactor(outer, 0)
    threads = min(ROW_THREADS, accelerator_of(target).threads)
    outer, inner = sch.get_loops(parts)[-2:]
    sch.bind(outer, "blockIdx.x")
    sch.bind(sch.split(inner, [None, threads])[1], "threadIdx.x")
    sch.bind(sch.split(sch.get_loops(block)[-1], [None, threads])[1], "threadIdx.x")


def _bind_few_rows(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Multiply a matrix with a few vectors: a block of threads reads its part for all of them."""
    nest = plain_nest(sch, block)
    accesses, largest, inner = nest.accesses, nest.largest(), nest.innermost()
    if not _reduces(nest) or largest is None or inner is None:
        raise DoesNotFitError("it is no long reduction")
    few = [v for v in nest.own if not largest.mentions(v) and accesses.extent(v) != 1]
    others = [var for var in nest.own if var not in few]
    device = accelerator_of(target)
    count = accesses.known_count(few)
    if not few or not others or count is None or count > MOST_VECTORS:
        raise DoesNotFitError("it is not about a few vectors")
    if any(_is_read_again(dimension) for dimension in largest.indices):
        raise DoesNotFitError("elements of windows are read again and again")
    reduced, vectors = nest.of(accesses.reduction), sch.fuse(*nest.of(few))
    sch.reorder(*nest.of(others), vectors, *reduced)
    results = sch.fuse(*nest.of(others))
    threads = max(min(BLOCK_THREADS, device.threads // count) // WARP, 1) * WARP
    if nest.reduces_along(inner):
        place, share = results, sch.fuse(*reduced)
        shares = [(sch.split(share, [None, threads])[1], "threadIdx.x")]
    else:
        place, column = sch.split(results, [None, WARP])
        longest = nest.loops[max(accesses.reduction, key=accesses.extent)]
        part = sch.split(longest, [None, max(threads // WARP, 1)])[1]
        shares = [(column, "threadIdx.x"), (part, "threadIdx.y")]
    sch.bind(place, "blockIdx.x")
    for loop, axis in ((vectors, "threadIdx.z"), *shares):
        sch.bind(loop, axis)


def _is_read_again(index: Expr) -> bool:
    """Whether several iterators count one dimension, as in a window."""
    return len(set(variables_of(index))) > 1


# --- columns --------------------------------------------------------------------------------------


def _bind_columns(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Reduce columns: threads next to each other have results next to each other."""
    nest = plain_nest(sch, block)
    accesses = nest.accesses
    results = accesses.known_count(accesses.spatial)
    if not _reduces(nest) or not accesses.spatial or results is None or results >= FEW:
        raise DoesNotFitError("a thread for each result is enough")
    spatial, reduced = nest.of(accesses.spatial), nest.of(accesses.reduction)
    sch.reorder(*spatial, *reduced)
    columns, column = sch.split(sch.fuse(*spatial), [None, WARP])
    longest = max(accesses.reduction, key=accesses.extent)
    threads = min(ROW_THREADS, accelerator_of(target).threads)
    _, part = sch.split(nest.loops[longest], [None, max(threads // WARP, 1)])
    sch.bind(columns, "blockIdx.x")
    sch.bind(column, "threadIdx.x")
    sch.bind(part, "threadIdx.y")
