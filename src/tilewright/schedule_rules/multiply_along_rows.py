"""Products of rows with rows, whose vectors run along the sum: nothing has to be packed for them.

In ``x @ w.T`` the steps of a sum are side by side in both operands. A vector of one is multiplied
by a vector of the other then, as they are in memory, and the products are added to the lanes of a
vector for each result, by multiply-adds or instructions for dot products; the lanes are added at
the end, those of several results together, in squares that are transposed in registers. Where a few
rows use a large matrix, that takes as long as reading it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.ir.expr import Expr
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.decisions import choose, without
from tilewright.schedule_rules.dot_product_steps import (
    copy_in_registers,
    current_access,
    inline_padding,
    pad,
    shift,
)
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import (
    Nest,
    accepts,
    block_of,
    loops_around,
    loops_by_iterator,
    parallelize,
)
from tilewright.schedule_rules.row_products import RowProducts
from tilewright.schedule_rules.structures import apply_rule
from tilewright.schedule_rules.tiled_contraction import positions_of
from tilewright.schedule_rules.tiles import vectorize_tile
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH

STEPS: Final = (1, 2)
"""How many steps may be unrolled."""


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
        sizes = [plan.lanes] if plan.dot.is_multiply_add else [plan.lanes, plan.dot.size]
        step, lane, *part = sch.split(loops[plan.dot.step], [None, *sizes])
        # Loops that run once may be anywhere, as of the one row of each of a batch's matrices.
        outer = [loops[v] for v in found.accesses.spatial if v in loops]
        outer = without(outer, loops[found.row], loops[found.column])
        sch.reorder(*outer, loops[found.row], loops[found.column], step, lane, *part)
        lanes = sch.rfactor(lane, len(found.accesses.stores[0].indices))
        *around, row, column, step, lane = sch.get_loops(lanes)[: -1 if part else None]
        part = sch.get_loops(lanes)[-1:] if part else []
        tiles = plan.tiles_at_once(plan.tile.rows)
        rows, tile_row, row = sch.split(row, [None, tiles, plan.tile.rows])
        widths = [plan.lanes // plan.tile.vectors, plan.tile.vectors]
        square, tile_column, column = sch.split(column, [None, *widths])
        sch.reorder(*around, square, rows, tile_column, tile_row, step, row, column, lane, *part)
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
        copy_in_registers(sch, lanes, found, found.moving[0], step, plan.group)
        init = sch.decompose_reduction(lanes, step)
        sch.vectorize(sch.get_loops(init)[-1])
        if plan.dot.is_multiply_add:
            sch.vectorize(lane)
        else:
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
        name = current_access(sch, self.block, found, operand).buffer.name
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
