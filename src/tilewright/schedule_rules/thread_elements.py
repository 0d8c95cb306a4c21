"""Elements on devices: a thread computes one, or a vector of them.

Neighbouring threads compute neighbouring elements. What is read along another dimension is copied
through memory that threads share, so that it, too, is read by neighbours; see G. Ruetsch and
P. Micikevicius, "Optimizing Matrix Transpose in CUDA" (NVIDIA, 2009).
"""

from __future__ import annotations

from typing import Final

from tilewright.schedule_rules.elementwise import transposed_along
from tilewright.schedule_rules.inline import is_conditional
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    Nest,
    block_of,
    is_complete,
    loops_by_iterator,
    loops_inside,
    plain_nest,
)
from tilewright.schedule_rules.thread_binding import (
    ELEMENT_THREADS,
    VECTOR_BYTES,
    bind_blocks,
    bind_loop,
)
from tilewright.target import Target
from tilewright.target.accelerator import Accelerator, accelerator_of
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, Schedule

SIDE: Final = 32
"""The side of a tile that is transposed."""

TILE_ROWS: Final = 8
"""Number of rows of threads that transpose a tile."""


def bind_transposition(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Compute tiles of elements, of which operands are read along another dimension.

    Raises:
        DoesNotFitError: for another block.
        ScheduleError: if a step is refused.
    """
    nest = plain_nest(sch, block)
    accesses, vector = nest.accesses, nest.neighbours()
    across = None if vector is None else transposed_along(accesses, vector)
    if vector is None or across is None or not is_complete(sch, block):
        raise DoesNotFitError("it reads along the dimension that it writes along")
    if accelerator_of(target).threads < SIDE * TILE_ROWS:
        raise DoesNotFitError("its tile has more threads than a block")
    if min(accesses.extent(var) for var in (vector, across)) < SIDE // 2:
        raise DoesNotFitError("it is too narrow for a tile")
    if accesses.known_count(accesses.spatial) is None:
        raise DoesNotFitError("proofs about tiles of symbolic sizes take too long")
    buffers = {
        load.buffer
        for load in accesses.loads
        if load.stride(across) == 1 and load.stride(vector) not in (0, 1)
    }
    reads = [region.buffer for region in block_of(sch, block).reads]
    copies = [sch.cache_read(block, reads.index(buffer), "shared") for buffer in buffers]
    loops = loops_by_iterator(sch, block)
    row, y = sch.split(loops[across], [None, SIDE])
    column, x = sch.split(loops[vector], [None, SIDE])
    others = [loops[v] for v in accesses.spatial if v in loops and v not in (across, vector)]
    sch.reorder(*others, row, column, y, x)
    outer = [sch.fuse(*others), row, column] if others else [row, column]
    bind_blocks(sch, outer)
    sch.bind(sch.split(y, [None, TILE_ROWS])[1], "threadIdx.y")
    sch.bind(x, "threadIdx.x")
    for copy in copies:
        sch.compute_at(copy, column, preserve_unit_loops=True)
        # Threads that read a column of the tile find its elements in different banks.
        dimensions = len(block_of(sch, copy).writes[0].buffer.shape)
        sch.storage_align(copy, 0, dimensions - 2, SIDE, 1)
        part = sch.fuse(*loops_inside(sch, copy, column))
        _, y, x = sch.split(part, [None, TILE_ROWS, SIDE])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")


def bind_elements(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Give a thread each element that a block computes, or a vector of them.

    Raises:
        DoesNotFitError: for a block that computes one element, or none.
        ScheduleError: if a step is refused.
    """
    nest, device = plain_nest(sch, block), accelerator_of(target)
    accesses = nest.accesses
    if 0 in accesses.extents.values():
        raise DoesNotFitError("it never runs")
    kinds = {item.var: item.iter_type for item in accesses.block.iter_vars}
    spatial = [nest.loops[var] for var, kind in kinds.items() if kind is IterType.DATA_PAR]
    others = [nest.loops[var] for var, kind in kinds.items() if kind is not IterType.DATA_PAR]
    if not spatial:
        raise DoesNotFitError("it computes one element")
    lanes = 1 if others else _lanes(nest, device)
    if others:
        sch.reorder(*spatial, *others)
    bind_loop(sch, sch.fuse(*spatial), target, lanes)


def _lanes(nest: Nest, device: Accelerator) -> int:
    """Number of elements that a thread loads and stores at once."""
    accesses, var = nest.accesses, nest.neighbours()
    if var is None or accesses.spatial[-1] is not var or is_conditional(accesses.block.body):
        return 1
    count = accesses.known_count(accesses.spatial)
    places = (*accesses.loads, *accesses.stores)
    lanes = VECTOR_BYTES // max(access.buffer.dtype.itemsize for access in places)
    if count is None or count < lanes * ELEMENT_THREADS * device.multiprocessors:
        return 1
    runs = [
        accesses.run(place, accesses.spatial) if place.mentions(var) else accesses.extent(var)
        for place in places
    ]
    while lanes > 1 and any(run % lanes for run in runs):
        lanes //= 2
    return max(lanes, 1)
