"""The default schedule for devices: loops of each block over blocks of threads.

Products are made in tiles: the threads of a block copy a part of both operands into memory that
they share, and each adds up a few rows and columns in registers. Threads of a block share long
reductions; see `thread_rows`. All other blocks compute an element per thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from tilewright.ir.expr import Expr, Var, const_int_value
from tilewright.schedule_rules.accesses import BlockAccesses
from tilewright.schedule_rules.inline import inline_producers
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    attempt,
    block_of,
    is_complete,
    loops_by_iterator,
    plain_nest,
)
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.thread_rows import share_reductions
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.expr import IterType
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError

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


# --- products -----------------------------------------------------------------------------------


class Tile(NamedTuple):
    """Sizes of the parts of a product.

    Attributes:
        rows: number of rows of a block of threads.
        columns: number of its columns.
        steps: number of steps of the sum for which operands are copied at once.
        thread_rows: number of rows of a thread.
        thread_columns: number of its columns.
    """

    rows: int
    columns: int
    steps: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> tuple[int, int]:
        """Number of threads along rows and columns."""
        return self.rows // self.thread_rows, self.columns // self.thread_columns


def tile_for(rows: int, columns: int, steps: int) -> Tile:
    """A tile for a product of some size."""
    row_tile, column_tile = (
        next((size for size in (64, 32) if extent >= size), 16) for extent in (rows, columns)
    )
    return Tile(row_tile, column_tile, 16 if steps >= 16 else 8, row_tile // 16, column_tile // 16)


class _Product(NamedTuple):
    """What the iterators of a product stand for."""

    batch: list[Var]
    rows: list[Var]
    columns: list[Var]
    steps: list[Var]

    @staticmethod
    def of(accesses: BlockAccesses) -> _Product:
        """The product that a block computes.

        Raises:
            DoesNotFitError: if it is none, or is too small for tiles.
        """
        found = find_contraction(accesses)
        if found is None or len(accesses.loads) != 2:
            raise DoesNotFitError("it is no product of two operands")
        (moving,), (fixed,) = found.moving, found.fixed
        spatial = accesses.spatial
        product = _Product(
            [v for v in spatial if moving.mentions(v) == fixed.mentions(v)],
            [v for v in spatial if fixed.mentions(v) and not moving.mentions(v)],
            [v for v in spatial if moving.mentions(v) and not fixed.mentions(v)],
            accesses.reduction,
        )
        sizes = [accesses.known_count(part) for part in product[1:]]
        if any(size is None for size in sizes) or min(sizes) < 8:  # type: ignore[type-var]
            raise DoesNotFitError("it is too small for tiles, or its size is not known")
        return product


def tile_product(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Compute a product in tiles, through memory that the threads of a block share.

    Raises:
        DoesNotFitError: for another block.
        ScheduleError: if a step is refused.
    """
    accesses = plain_nest(sch, block).accesses
    product = _Product.of(accesses)
    rows, columns, steps = (accesses.count(part) for part in product[1:])
    tile = tile_for(rows, columns, steps)
    if tile.threads[0] * tile.threads[1] > accelerator_of(target).threads:
        raise DoesNotFitError("its tile has more threads than a block")
    result = sch.reindex(block, ("write", 0))
    _append_epilogue(sch, result)
    copies = [sch.reindex(block, ("read", number)) for number in range(2)]
    order = [item.var for item in block_of(sch, block).iter_vars]
    used = [[v for v in order if load.mentions(v)] for load in accesses.loads]
    spatial = accesses.spatial
    merged = _Merged(accesses, [part for part in product if part])
    for number, copy in enumerate(copies):
        _inline_producers_of(sch, copy)
        sch.transform_layout(block, ("read", number), merged.map(used[number]))
        sch.transform_block_layout(copy, merged.map(used[number]))
    sch.transform_layout(block, ("write", 0), merged.map(spatial))
    sch.transform_block_layout(result, merged.map(spatial))
    sch.transform_block_layout(block, merged.map(order))
    _bind_tiles(sch, block, copies, result, tile)


def _bind_tiles(
    sch: Schedule, block: BlockRV, copies: Sequence[BlockRV], result: BlockRV, tile: Tile
) -> None:
    """Give a product over rows, columns and steps its loops, perhaps with a batch around."""
    *batch, i, j, k = sch.get_loops(block)
    threads_i, threads_j = tile.threads
    by, ty, i = sch.split(i, [None, threads_i, tile.thread_rows])
    bx, tx, j = sch.split(j, [None, threads_j, tile.thread_columns])
    k, inner = sch.split(k, [None, tile.steps])
    sch.reorder(*batch, by, bx, ty, tx, k, inner, i, j)
    if batch:
        sch.bind(batch[0], "blockIdx.z")
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x")):
        sch.bind(loop, axis)
    for loop, axis in ((ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.set_scope(block, 0, "local")
    sch.reverse_compute_at(result, tx)
    for copy in copies:
        sch.set_scope(copy, 0, "shared")
        sch.compute_at(copy, k)
        part = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x = sch.split(part, [None, threads_i, threads_j])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction(block, k)


class _Merged:
    """Index maps that make one index of all iterators of a group."""

    def __init__(self, accesses: BlockAccesses, groups: Sequence[Sequence[Var]]) -> None:
        self._accesses, self._groups = accesses, groups

    def map(self, variables: Sequence[Var]) -> IndexMap:
        """The map of the indices that stand for some iterators, in order."""
        indices = {var: Var(var.name, var.dtype) for var in variables}
        found: list[Expr] = []
        for group in self._groups:
            index: Expr | None = None
            for var in group:
                if var in indices:
                    extent = self._accesses.extent(var)
                    index = indices[var] if index is None else index * extent + indices[var]
            if index is not None:
                found.append(index)
        return IndexMap(tuple(indices.values()), tuple(found))


def _append_epilogue(sch: Schedule, block: BlockRV) -> None:
    """Compute what happens to each element of the result next in the block that stores it."""
    while True:
        consumers = sch.get_consumers(block)
        if len(consumers) != 1 or not is_complete(sch, consumers[0]):
            return
        try:
            sch.reverse_compute_inline(consumers[0])
        except ScheduleError:
            return


def _inline_producers_of(sch: Schedule, block: BlockRV) -> None:
    """Compute what a copy reads, such as padding, where it reads it."""
    for producer in sch.get_producers(block):
        if is_complete(sch, producer):
            with suppress(ScheduleError):
                sch.compute_inline(producer)
