"""Blocks that read along one dimension and write along another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import choose, lanes_for, without
from tilewright.schedule_rules.elementwise import transposed_along
from tilewright.schedule_rules.far_memory import may_stream, stream_stores
from tilewright.schedule_rules.nest import Nest, is_complete, parallelize, present, split_into
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import Schedule
from tilewright.tir.transform.machine import Machine

MOST_LANES: Final = 16
"""Maximum side of a tile that is transposed in registers."""

SIDE: Final = 32
"""The side of a tile that the first cache holds easily."""

PAGE_BYTES: Final = 4096
"""Rows that are a multiple of it apart share the sets of the first cache."""


def tile_transposition(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Transposes square tiles of vectors in registers, or of elements in the first cache.

    Left to the search: how many tiles follow each other in both directions, and whether large
    results are written past the caches.
    """
    vector = nest.neighbours()
    if vector is None or not is_complete(sch, nest.block):
        return []
    across = transposed_along(nest.accesses, vector)
    if across is None or not {vector, across} <= set(nest.own):
        return []
    squares = partial(_squares, vector=vector, across=across, machine=machine)
    extent, lanes = nest.accesses.extents[vector], _lanes(nest, machine)
    streams = may_stream(sch, nest, machine) and extent is not None and extent >= lanes
    vectors = partial(_in_registers, vector=vector, across=across, machine=machine, streams=streams)
    return [vectors] if extent is None or extent >= lanes else [squares, vectors]


def _lanes(nest: Nest, machine: Machine) -> int:
    return min(MOST_LANES, machine.lanes(nest.accesses.stores[0].buffer.dtype))


def _in_registers(
    sch: Schedule, nest: Nest, *, vector: Var, across: Var, machine: Machine, streams: bool
) -> None:
    accesses, (store,) = nest.accesses, nest.accesses.stores
    lanes = _lanes(nest, machine)
    extents = [accesses.extents[var] for var in (across, vector)]
    side, width = (lanes_for(extent, lanes) for extent in extents)
    row_bytes = (store.stride(across) or 0) * store.buffer.dtype.itemsize
    high = choose(sch, *_repeats((1, 2, 4, 8), side, extents[0], 1))
    shared_sets = row_bytes % PAGE_BYTES == 0
    wide = choose(sch, *_repeats((1, 2, 4, 8, 32), width, extents[1], 8 if shared_sets else 2))
    row_tile, row_part, row = sch.split(nest.loops[across], [None, high, side])
    column_tile, column_part, column = sch.split(nest.loops[vector], [None, wide, width])
    others = nest.of(without(accesses.spatial, vector, across))
    sch.reorder(*others, column_tile, row_tile, row_part, column_part, row, column)
    sch.unroll(row)
    sch.vectorize(column)
    around = [*others, column_tile]
    if streams:
        stream_stores(sch, row_tile, nest, machine)
    else:
        around.append(row_tile)
    if nest.outer == 0:
        parallelize(sch, around, machine)


def _repeats(
    counts: Sequence[int], side: int, extent: int | None, preferred: int
) -> tuple[list[int], int]:
    """How many tiles may follow each other, so that one does not stick out; and how many should."""
    fitting = [n for n in counts if n == 1 or extent is None or n * side <= extent]
    return fitting, max(n for n in fitting if n <= preferred)


def _squares(sch: Schedule, nest: Nest, *, vector: Var, across: Var, machine: Machine) -> None:
    """Each cache line is used as a whole while it is there."""
    (row_tile,), row = split_into(sch, nest.loops[across], [SIDE])
    (column_tile,), column = split_into(sch, nest.loops[vector], [SIDE])
    around = [*nest.of(without(nest.accesses.spatial, vector, across))]
    around += present(row_tile, column_tile)
    sch.reorder(*around, *present(row, column))
    if nest.outer == 0:
        parallelize(sch, around, machine)
