"""Blocks that read along one dimension and write along another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.schedule_rules.balance import divides_evenly
from tilewright.schedule_rules.decisions import choose, lanes_for, without
from tilewright.schedule_rules.elementwise import transposed_along
from tilewright.schedule_rules.far_memory import has_large_cache, may_stream, stream_stores
from tilewright.schedule_rules.nest import (
    Nest,
    extent_of,
    is_complete,
    parallelize,
    present,
    split_into,
)
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import Schedule
from tilewright.tir.transform.machine import LINE_BYTES, Machine
from tilewright.tir.transform.transpose_gathers import LEAST_BITS

MOST_ROWS: Final = 16
"""Maximum number of rows of a tile that is transposed in registers."""

PIECE_BYTES: Final = 2 * LINE_BYTES, 2 * LINE_BYTES
"""What neighbouring tiles read of a row of the operand, and write of one of the result: caches
fetch lines in pairs."""

SHARED_LINES_PIECE_BYTES: Final = LINE_BYTES, 4 * LINE_BYTES
"""The same where rows of the result are written in turn, and tiles begin inside of lines: the next
tile along the row completes the line soon."""

BLOCK_BYTES: Final = 4 * LINE_BYTES, 32 * LINE_BYTES
"""The same for results that go past the caches, where those of a core are small: the fastest of all
sizes on a Zen 5."""

SIDE: Final = 32
"""The side of a tile that the first cache holds easily."""


def tile_transposition(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Transposes tiles of whole lines in registers, or squares of elements in the first cache.

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
    vectors = partial(_in_registers, vector=vector, across=across, machine=machine)
    (store,), extent = nest.accesses.stores, nest.accesses.extents[vector]
    is_long = extent is None or extent >= machine.lanes(store.buffer.dtype)
    return [vectors] if is_long else [squares, vectors]


def _in_registers(sch: Schedule, nest: Nest, *, vector: Var, across: Var, machine: Machine) -> None:
    accesses, (store,) = nest.accesses, nest.accesses.stores
    rows, columns = (accesses.extents[var] for var in (across, vector))
    most_rows, line = _tile(store.buffer.dtype, machine)
    side, width = lanes_for(rows, most_rows), lanes_for(columns, line)
    # A line that is written past the caches in parts takes several times as long.
    whole_lines = width == line and (store.stride(across) or 1) % line == 0
    streams = whole_lines and may_stream(sch, nest, machine)
    in_blocks = streams and not has_large_cache(machine)
    reads_in_turn = streams or (rows is not None and columns is not None and rows < columns)
    pieces = PIECE_BYTES if whole_lines or reads_in_turn else SHARED_LINES_PIECE_BYTES
    read, written = BLOCK_BYTES if in_blocks else pieces
    itemsize = store.buffer.dtype.itemsize
    high = choose(sch, *_repeats((1, 2, 4, 8, 16), side, rows, read // (side * itemsize)))
    wide = choose(sch, *_repeats((1, 2, 4, 8, 32), width, columns, written // (width * itemsize)))
    row_tile, row_part, row = sch.split(nest.loops[across], [None, high, side])
    column_tile, column_part, column = sch.split(nest.loops[vector], [None, wide, width])
    # Either rows of the operand are read in turn, or rows of the result are written in turn.
    tiles = [column_tile, row_tile] if reads_in_turn else [row_tile, column_tile]
    parts = [column_part, row_part] if in_blocks else [row_part, column_part]
    around = [*nest.of(without(accesses.spatial, vector, across)), *tiles]
    sch.reorder(*around, *parts, row, column)
    sch.unroll(row)
    sch.vectorize(column)
    if streams:
        stream_stores(sch, around[-1], nest, machine, scattered=True)
    # A loop of its own ends at whole tiles; of a fused one, each iteration asks where that is.
    outer = around[:-1]
    sizes = [extent_of(sch, loop) for loop in outer]
    if streams or (None not in sizes and divides_evenly(sch, outer, machine)):
        around = outer
    if nest.outer == 0:
        parallelize(sch, around, machine)


def _tile(dtype: DType, machine: Machine) -> tuple[int, int]:
    """Rows and columns of a tile in registers that writes whole lines of a cache."""
    if machine.vector_bits == 0:
        return 1, 1
    line = max(1, LINE_BYTES // dtype.itemsize)
    in_registers = machine.vector_registers * machine.vector_bits // 8 // LINE_BYTES
    return min(MOST_ROWS, max(in_registers, LEAST_BITS // dtype.bits)), line


def _repeats(
    counts: Sequence[int], side: int, extent: int | None, preferred: int
) -> tuple[list[int], int]:
    """How many tiles may follow each other, so that one does not stick out; and how many should."""
    fitting = [n for n in counts if n == 1 or extent is None or n * side <= extent]
    return fitting, max(n for n in fitting if n <= max(1, preferred))


def _squares(sch: Schedule, nest: Nest, *, vector: Var, across: Var, machine: Machine) -> None:
    """Each cache line is used as a whole while it is there."""
    (row_tile,), row = split_into(sch, nest.loops[across], [SIDE])
    (column_tile,), column = split_into(sch, nest.loops[vector], [SIDE])
    around = [*nest.of(without(nest.accesses.spatial, vector, across))]
    around += present(row_tile, column_tile)
    sch.reorder(*around, *present(row, column))
    if nest.outer == 0:
        parallelize(sch, around, machine)
