"""Products of rows with rows, whose vectors run along the sum: nothing has to be packed for them.

In ``x @ w.T`` the steps of a sum are side by side in both operands. Instructions for dot products
multiply a vector of one by a vector of the other then, as they are in memory, and add the products
to the lanes of a vector for each result; the lanes are added at the end, those of several results
together, in squares that are transposed in registers. Where a few rows use a large matrix, that
takes as long as reading it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.accesses import StridedAccess, accesses_of
from tilewright.schedule_rules.contraction_plan import IN_MEMORY, NEAR_BYTES, UNITS
from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.schedule_rules.dot_product_steps import (
    copy_in_registers,
    current_access,
    inline_padding,
    pad,
    shift,
)
from tilewright.schedule_rules.dot_products import DotProduct, find_dot_products
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import (
    Nest,
    accepts,
    block_of,
    loops_around,
    loops_by_iterator,
    parallelize,
)
from tilewright.schedule_rules.operands import Contraction
from tilewright.schedule_rules.reduce_along_rows import FAR_ROWS
from tilewright.schedule_rules.structures import apply_rule
from tilewright.schedule_rules.tiled_contraction import positions_of
from tilewright.schedule_rules.tiles import (
    LOAD,
    LOADS,
    MOST_ROWS,
    STREAM,
    Tile,
    fits_registers,
    vectorize_tile,
)
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import ADD_LATENCY, LINE_BYTES, Machine

ADDING_LANES: Final = 2.5
"""Cycles in which the lanes of a result are added, as a part of squares."""

ASKED_BYTES: Final = 9.0
"""Bytes that arrive from memory in a cycle where all are asked for ahead."""

STEPS: Final = (1, 2)
"""How many steps may be unrolled."""

COPYING: Final = 2.0
"""Cycles in which a vector of an operand is copied."""


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
        """How many rows there are."""
        return self.found.accesses.extent(self.found.row)

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

    @cached_property
    def tile(self) -> Tile:
        """The rows and columns whose sums stay in registers, with the least time."""
        widths = powers_of_two(1, min(FAR_ROWS, self.lanes))
        tiles = [
            Tile(r, c)
            for r in range(1, min(MOST_ROWS, self.rows) + 1)
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
        return max(total, size / NEAR_BYTES) if size > self.machine.own_cache // 2 else total

    def _multiplying(self, tile: Tile) -> float:
        """Cycles in which all lanes are computed."""
        tiles, at_once = -(-self.rows // tile.rows), self.tiles_at_once(tile.rows)
        multiply = max(tile.rows * tile.vectors / UNITS, ADD_LATENCY)
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
        return 1 / LOADS if rows * self.row_bytes <= self.machine.first_cache // 2 else STREAM

    def _has_whole_lines(self) -> bool:
        (operand,) = self.found.moving
        extent = self.found.accesses.extent(self.dot.step)
        return extent * operand.buffer.dtype.itemsize % LINE_BYTES == 0


def find_row_products(
    found: Contraction, machine: Machine, outer: int, constants: frozenset[Var]
) -> RowProducts | None:
    """The best way to multiply rows with rows, if the steps of the sum are side by side in both
    operands, and the machine has an instruction for them.

    Args:
        outer: how many of the loops around the block are fixed already.
        constants: the memory of operands that are packed only once, when the program is compiled.
    """
    accesses = found.accesses
    if outer or None in accesses.extents.values() or found.has_windows():
        return None
    loads = (*found.moving, *found.fixed)
    if any(load.buffer.data in constants for load in loads):
        return None
    steps = [var for var in accesses.reduction if accesses.extents[var] != 1]
    for dot in find_dot_products(found, machine):
        is_one_row = dot.kind.rows == 1 and not dot.kind.in_tiles
        is_stored = all(dot.kind.dtype in (None, str(load.buffer.dtype)) for load in loads)
        are_rows = steps == [dot.step] and all(load.stride(dot.step) == 1 for load in loads)
        if is_one_row and is_stored and are_rows:
            return RowProducts(found, machine, dot)
    return None


def multiply_along_rows(
    plan: RowProducts, epilogue: Sequence[BlockRV], sch: Schedule, nest: Nest
) -> None:
    """Compute a tile of sums in vectors along them, then add the lanes of its results.

    ::

        copy the rows, those of a tile side by side
        for columns, rows:              # as many as are a square in registers, and stay near
            for tile of columns, tile of rows:
                for step:               # of a vector of each row and column
                    a tile of rows x columns in registers: unrolled
            add the lanes of each result
            the element-wise consumers of the results

    Args:
        epilogue: element-wise blocks that read the result.
    """
    _Steps(plan, sch, nest).apply(epilogue)


class _Steps:
    """The steps for one block."""

    def __init__(self, plan: RowProducts, sch: Schedule, nest: Nest) -> None:
        self.plan, self.sch, self.nest = plan, sch, nest
        self.block = nest.block

    def apply(self, epilogue: Sequence[BlockRV]) -> None:
        """Take all steps."""
        plan, sch, found = self.plan, self.sch, self.plan.found
        # What is filled up last is guarded as a whole, which is lowered to whole vectors.
        if plan.dot.kind.shifts:
            epilogue = shift(sch, self.block, found, plan.machine, 0, epilogue)
        epilogue = pad(sch, self.block, plan.multiples, epilogue)
        copy = self._copy_rows()
        loops = self.nest.again(sch).loops
        step, lane, part = sch.split(loops[plan.dot.step], [None, plan.lanes, plan.dot.size])
        sch.reorder(loops[found.row], loops[found.column], step, lane, part)
        lanes = sch.rfactor(lane, len(found.accesses.stores[0].indices))
        *around, row, column, step, lane, part = sch.get_loops(lanes)
        tiles = plan.tiles_at_once(plan.tile.rows)
        rows, tile_row, row = sch.split(row, [None, tiles, plan.tile.rows])
        widths = [plan.lanes // plan.tile.vectors, plan.tile.vectors]
        square, tile_column, column = sch.split(column, [None, *widths])
        sch.reorder(*around, square, rows, tile_column, tile_row, step, row, column, lane, part)
        if around:
            sch.compute_at(copy, around[-1])
        self._vectorize_rows(copy, loops_around(sch, copy, around[-1] if around else None))
        if plan.asks_ahead():
            name = found.moving[0].buffer.name
            sch.annotate(tile_column, SOFTWARE_PREFETCH, {name: choose(sch, (0, 1), 1)})
        for loop in (row, column):
            sch.unroll(loop)
        unrolled = [n for n in STEPS if plan.steps % n == 0]
        step, together = sch.split(step, [None, choose(sch, unrolled, unrolled[-1])])
        sch.unroll(together)
        self._change_columns(lanes, step)
        init = sch.decompose_reduction(lanes, step)
        sch.vectorize(sch.get_loops(init)[-1])
        sch.tensorize(lane, plan.dot.lane_intrinsic(plan.lanes))
        self._add_lanes(rows)
        self._schedule_consumers(epilogue, rows)
        parallelize(sch, [*around, square, rows], plan.machine)

    def _copy_rows(self) -> BlockRV:
        """Copy the operand with rows: those of a tile side by side, in pieces of a vector."""
        plan, sch, found = self.plan, self.sch, self.plan.found
        (operand,) = found.fixed
        iterators = [item.var for item in found.accesses.block.iter_vars]
        used = [n for n, var in enumerate(iterators) if operand.mentions(var)]
        row, step = positions_of([found.row, plan.dot.step], iterators)
        height, group = plan.tile.rows, plan.group

        def layout(*values: Expr) -> tuple[Any, ...]:
            outer = [values[n] for n in used if n not in (row, step)]
            tile, piece = values[row] // height, values[step] // group
            return (*outer, tile, piece, values[row] % height, values[step] % group)

        index_map = IndexMap.from_func(layout, len(iterators))
        name = self._current(self.block, operand).buffer.name
        copy = sch.reindex_cache_read(self.block, name, "global", index_map)
        inline_padding(sch, copy, operand)
        return copy

    def _vectorize_rows(self, copy: BlockRV, around: int) -> None:
        """Let the copy of rows run in vectors of a piece.

        Args:
            around: number of loops around it that belong to others.
        """
        sch, group = self.sch, self.plan.group
        loops = sch.get_loops(copy)[around:]
        piece, lane = sch.split(loops[-1], [None, group])
        sch.vectorize(lane)
        if not around and self.plan.rows * self.plan.row_bytes > self.plan.machine.first_cache:
            parallelize(sch, [*loops[:-1], piece], self.plan.machine)

    def _current(self, block: BlockRV, load: StridedAccess) -> StridedAccess:
        """What a load has become in a block."""
        return current_access(self.sch, block, self.plan.found, load)

    def _change_columns(self, lanes: BlockRV, step: LoopRV) -> None:
        """Fill up and shift vectors of columns right before they are multiplied, in registers.

        Args:
            lanes: the block that multiplies.
            step: the innermost loop over steps that is not unrolled.
        """
        sch, (operand,) = self.sch, self.plan.found.moving
        current = self._current(lanes, operand).buffer
        if current is operand.buffer:
            return
        (copy,) = (b for b in sch.get_producers(lanes) if sch.get(b).writes[0].buffer is current)
        copy_in_registers(sch, copy, operand, step, self.plan.group)

    def _add_lanes(self, place: LoopRV) -> None:
        """Add the lanes of results: a vector of them at once.

        Args:
            place: the loop in each iteration of which they are computed.
        """
        sch, block = self.sch, self.block
        sch.reverse_compute_at(block, place)
        accesses = accesses_of(block_of(sch, block))
        loops = loops_by_iterator(sch, block, loops_around(sch, block, place))
        (store,) = accesses.stores
        (lane,) = (loops[var] for var in accesses.reduction if var in loops)
        column = next(loops[v] for v in accesses.spatial if v in loops and store.stride(v) == 1)
        others = [loop for loop in loops.values() if loop is not lane and loop is not column]
        sch.reorder(*others, lane, column)
        sch.unroll(lane)
        sch.vectorize(column)

    def _schedule_consumers(self, epilogue: Sequence[BlockRV], place: LoopRV) -> None:
        """Compute what reads the results as soon as they are there, or else on its own."""
        sch, plan = self.sch, self.plan
        for consumer in epilogue:
            if accepts(lambda block=consumer: sch.reverse_compute_at(block, place)):
                vectorize_tile(sch, consumer, loops_around(sch, consumer, place), 1, plan.lanes)
            else:
                apply_rule(vectorize_elements, sch, consumer, plan.machine)
