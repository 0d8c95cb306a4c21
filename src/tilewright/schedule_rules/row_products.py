"""How products of rows with rows are tiled, whose vectors run along the sum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.contraction_plan import IN_MEMORY
from tilewright.schedule_rules.decisions import powers_of_two
from tilewright.schedule_rules.dot_products import (
    UNITS,
    DotProduct,
    find_dot_products,
    find_multiply_adds,
)
from tilewright.schedule_rules.operands import Contraction
from tilewright.schedule_rules.reduce_along_rows import FAR_ROWS
from tilewright.schedule_rules.tiles import LOAD, LOADS, MOST_ROWS, Tile, fits_registers
from tilewright.tir.transform.machine import ADD_LATENCY, LINE_BYTES, Machine

ADDING_LANES: Final = 3.1
"""Cycles in which the lanes of a result are added, as a part of squares."""

ASKED_BYTES: Final = 9.0
"""Bytes that arrive from memory in a cycle where all are asked for ahead."""

COPYING: Final = 2.0
"""Cycles in which a vector of an operand is copied."""

STREAM: Final = 1.0
"""Cycles in which a vector arrives from the cache of a core, where it is next to the one before."""

AGAIN: Final = 1.35
"""The same of several rows that are read again and again."""

SHARED_BYTES: Final = 20.0
"""Bytes that arrive from the shared cache in a cycle where all are asked for ahead."""

WAITING: Final = 0.4
"""The part of the time in which columns arrive from the shared cache that nothing hides."""


MOST_UNKNOWN_ROWS: Final = 4
"""Maximum number of rows of a tile where there may be fewer, so that a tile is filled up."""


@dataclass(frozen=True, eq=False)
class RowProducts:
    """Tiles of products whose vectors run along the sum.

    Attributes:
        found: the contraction; its columns are the rows of the other operand.
        machine: the machine.
        dot: the instruction.
    """

    found: Contraction
    machine: Machine
    dot: DotProduct

    @property
    def lanes(self) -> int:
        """Number of parts of a sum, and of results whose parts are added together."""
        return self.machine.lanes(self.found.accesses.stores[0].buffer.dtype)

    @property
    def group(self) -> int:
        """Steps of the sum that an instruction takes."""
        return self.lanes * self.dot.size

    @property
    def rows(self) -> int:
        """How many rows there are, at most where that is symbolic."""
        return self.found.row_count()

    @property
    def columns(self) -> int:
        """How many columns there are, filled up to whole squares."""
        return -(-self.found.accesses.extent(self.found.column) // self.lanes) * self.lanes

    @property
    def steps(self) -> int:
        """How many instructions a sum takes."""
        return -(-self.found.accesses.extent(self.dot.step) // self.group)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of an operand."""
        (operand,) = self.found.moving
        return self.steps * self.group * operand.buffer.dtype.itemsize

    @property
    def columns_bytes(self) -> int:
        """Bytes of the operand with columns that a product reads."""
        return self.columns * self.row_bytes

    @property
    def multiples(self) -> dict[Var, int]:
        """What the extents of iterators become multiples of."""
        found = self.found
        return {found.row: self.tile.rows, found.column: self.lanes, self.dot.step: self.group}

    @property
    def _are_known(self) -> bool:
        """Whether it is known how many rows there are."""
        return self.found.accesses.extents[self.found.row] is not None

    @cached_property
    def tile(self) -> Tile:
        """The rows and columns whose sums stay in registers, with the least time."""
        widths = powers_of_two(1, min(FAR_ROWS, self.lanes))
        most = min(MOST_ROWS if self._are_known else MOST_UNKNOWN_ROWS, self.rows)
        tiles = [
            Tile(r, c)
            for r in range(1, most + 1)
            for c in widths
            if fits_registers(Tile(r, c), self.machine, self.dot.kind.registers)
        ]
        return min(tiles, key=lambda tile: (self._multiplying(tile), abs(tile.rows - tile.vectors)))

    def tiles_at_once(self, height: int) -> int:
        """For how many tiles of rows the lanes of the results of a square of columns stay in the
        first cache, until they are added.

        Args:
            height: how many rows a tile has.
        """
        if not self._are_known:
            return 1
        tiles = -(-self.rows // height)
        row_bytes = self.lanes * self.machine.vector_bits // 8
        most = max(1, self.machine.first_cache // 2 // (row_bytes * height))
        return max(n for n in range(1, min(tiles, most) + 1) if tiles % n == 0)

    def asks_ahead(self) -> bool:
        """Whether columns come from far away."""
        return self.columns_bytes > self.machine.own_cache

    def cycles(self) -> float:
        """An estimate of the time, to compare it with those of other plans."""
        accesses, found = self.found.accesses, self.found
        rows = -(-self.rows // self.tile.rows) * self.tile.rows
        total = self._multiplying(self.tile) + ADDING_LANES * rows * self.columns
        total += COPYING * rows * self.steps
        total *= accesses.count(found.outer)
        (operand,) = found.moving
        size = accesses.size(operand)
        if size > IN_MEMORY * self.machine.shared_cache:
            return total + size / ASKED_BYTES
        if not self.asks_ahead():
            return total
        arriving = size / SHARED_BYTES
        return max(arriving, total + WAITING * arriving)

    def _multiplying(self, tile: Tile) -> float:
        """Cycles in which all lanes are computed."""
        tiles, at_once = -(-self.rows // tile.rows), self.tiles_at_once(tile.rows)
        multiply = max(tile.rows * tile.vectors * self.dot.cycles(self.machine), ADD_LATENCY)
        of_row = self._arrival(at_once * tile.rows)
        lines = 1 if self._has_whole_lines() else 2
        other = LOAD * (tile.rows + tile.vectors)
        other += tile.vectors / UNITS if self.dot.kind.shifts else 0
        # Columns come from the cache of a core for the first tile of rows, and are near for others.
        first, later = (
            max(multiply, tile.rows * of_row + tile.vectors * lines * of_column) + other
            for of_column in (STREAM, self._arrival(tile.vectors))
        )
        blocks = tiles // at_once
        return (
            (blocks * first + (tiles - blocks) * later) * self.steps * self.columns / tile.vectors
        )

    def _arrival(self, rows: int) -> float:
        """Cycles in which a vector arrives of some rows that are read again and again."""
        return 1 / LOADS if rows * self.row_bytes <= self.machine.first_cache // 2 else AGAIN

    def _has_whole_lines(self) -> bool:
        (operand,) = self.found.moving
        extent = self.found.accesses.extent(self.dot.step)
        return extent * operand.buffer.dtype.itemsize % LINE_BYTES == 0


def find_row_products(
    found: Contraction, machine: Machine, outer: int, constants: frozenset[Var]
) -> RowProducts | None:
    """The best way to multiply rows with rows, if the steps of the sum are side by side in both
    operands.

    Args:
        outer: how many of the loops around the block are fixed already.
        constants: the memory of operands that are packed only once, when the program is compiled.
    """
    accesses = found.accesses
    symbolic = [var for var, extent in accesses.extents.items() if extent is None]
    are_few = not symbolic or (symbolic == [found.row] and found.few_rows is not None)
    if outer or not are_few or found.has_windows():
        return None
    loads = (*found.moving, *found.fixed)
    if any(load.buffer.data in constants for load in loads):
        return None
    steps = [var for var in accesses.reduction if accesses.extents[var] != 1]
    for dot in (*find_dot_products(found, machine), *find_multiply_adds(found)):
        is_one_row = dot.kind.rows == 1 and not dot.kind.in_tiles
        is_stored = all(dot.kind.dtype in (None, str(load.buffer.dtype)) for load in loads)
        are_rows = steps == [dot.step] and all(load.stride(dot.step) == 1 for load in loads)
        if is_one_row and is_stored and are_rows:
            return RowProducts(found, machine, dot)
    return None
