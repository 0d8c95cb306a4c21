"""Operands of a contraction that are packed or converted before they are multiplied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tilewright.ir.expr import Expr
from tilewright.schedule_rules.accesses import StridedAccess, accesses_of
from tilewright.schedule_rules.converted_operands import convert_copy, convert_producer
from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.dot_product_steps import (
    copy_in_registers,
    current_access,
    fills_rows_in_registers,
    inline_padding,
)
from tilewright.schedule_rules.nest import (
    block_of,
    extent_of,
    loops_around,
    loops_by_iterator,
    parallelize,
)
from tilewright.schedule_rules.operands import constant_memory
from tilewright.schedule_rules.tiled_contraction import TiledContraction, flattened, positions_of
from tilewright.schedule_rules.tiles import copy_groups, copy_squares
from tilewright.tir.buffer import Buffer
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV
from tilewright.tir.stmt import ForKind

MOST_VECTORS_UNROLLED: Final = 32
"""Maximum number of vectors of a copy that are written one after the other."""

ROWS_AHEAD: Final = 8
"""How many rows ahead a copy to panels for tile registers asks for lines."""

STRIPS: Final = (4, 8, 16, 32)
"""Numbers of rows from far away that are copied to one panel after the other."""

STRIP: Final = 8
"""The best known one."""

PIECES: Final = 8
"""Number of pieces of a shared copy for each core."""


class Operands(TiledContraction):
    """The steps for operands."""

    def pack(self, place: LoopRV | None, *, shared: bool) -> Buffer:
        """Copy the panels of the operand that an iteration of `place` uses, side by side: panels
        one after the other, in each the steps of the sum, in each of these columns.

        Panels that are read once are vectors wide, so that those of a tile are several streams:
        hardware asks ahead for each of them.

        Args:
            place: the loop; None if all panels are copied at once.
            shared: whether `place` is in no loop that runs in parallel.

        Returns:
            The panels.
        """
        plan, sch, dot = self.plan, self.sch, self.plan.dot
        vectors = 1 if self.reads_panels_once() else self.tile.vectors
        width = vectors * self.tile.lanes
        (operand,) = plan.found.moving
        iterators = self.iterators
        columns = positions_of(plan.columns, iterators)
        used = [n for n, var in enumerate(iterators) if operand.mentions(var)]
        inner = [n for n in used if n not in columns]

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = self.flat_column(values)
            if dot is None:
                return (flat // width, *(values[n] for n in inner), flat % width)
            sizes = [dot.size if iterators[n] is dot.step else 1 for n in inner]
            steps = [values[n] // size for n, size in zip(inner, sizes, strict=True)]
            (grouped,) = positions_of([dot.step], iterators)
            step, part = values[grouped] % dot.size, values[grouped] % dot.neighbors
            vector, lane = flat // self.tile.lanes, flat % self.tile.lanes
            if plan.in_tiles:
                return (vector, *steps, step // dot.neighbors, lane, part)
            return (vector // vectors, *steps, vector % vectors, lane, part)

        index_map = IndexMap.from_func(layout, len(iterators))
        name = current_access(sch, self.block, plan.found, operand).buffer.name
        copy = sch.reindex_cache_read(self.block, name, "global", index_map)
        if dot is not None or plan.fills_lanes:
            inline_padding(sch, copy, operand)
        if dot is not None:
            if str(block_of(sch, copy).writes[0].buffer.dtype) != dot.dtypes[1]:
                sch.unsafe_set_dtype(copy, 0, dot.dtypes[1])
        elif operand in plan.converted:
            self._convert_panels(copy, place)
        if len(plan.columns) > 1 and plan.has_one_stretch:
            self._merge_columns(copy, used)
        if place is not None:
            sch.compute_at(copy, place)
        around = loops_around(sch, copy, place)
        self._vectorize_copy(copy, used, around)
        if shared:
            self._share(copy, around)
        return block_of(sch, copy).writes[0].buffer

    def _vectorize_copy(self, copy: BlockRV, used: Sequence[int], around: int) -> None:
        """Let a copy to panels run in vectors.

        Args:
            copy: the block that copies.
            used: which of the iterators of the contraction are iterators of the copy.
            around: number of loops around it that belong to others.
        """
        plan, sch, dot = self.plan, self.sch, self.plan.dot
        columns = [used.index(n) for n in positions_of(plan.columns, self.iterators)]
        if dot is not None:
            (grouped,) = positions_of([dot.step], self.iterators)
            step = used.index(grouped)
            (operand,) = plan.found.moving
            is_near = plan.found.is_unfolded or operand.buffer.data in constant_memory(sch)
            ahead = ROWS_AHEAD if plan.in_tiles and not is_near else 0
            copy_groups(sch, copy, columns[-1], step, around, self.tile, dot.neighbors, ahead)
            return
        # Several columns that are one stretch have become the last iterator.
        along = len(used) - len(columns) if len(columns) > 1 and plan.has_one_stretch else None
        is_static = None not in map(plan.found.accesses.extents.get, plan.columns)
        if along is None and len(columns) > 1 and is_static:
            self._copy_merged(copy, columns, around)
        elif along is not None or not copy_squares(sch, copy, columns[-1], around, self.tile):
            strip = choose(sch, STRIPS, STRIP) if self.copies_strips() else None
            self.vectorize(copy, around, strip, along)

    def _merge_columns(self, copy: BlockRV, used: Sequence[int]) -> None:
        """Let a copy to panels have one iterator over merged columns, so that a loop over some of
        them computes what a panel needs.

        Args:
            copy: the block that copies.
            used: which of the iterators of the contraction are iterators of the copy.
        """
        accesses, columns = self.plan.found.accesses, self.plan.columns
        merged = [used.index(n) for n in positions_of(columns, self.iterators)]
        extents = [accesses.extent(var) for var in columns]

        def layout(*values: Expr) -> tuple[Any, ...]:
            others = (value for n, value in enumerate(values) if n not in merged)
            return (*others, flattened(values, merged, extents))

        self.sch.transform_block_layout(copy, layout)

    def _copy_merged(self, copy: BlockRV, columns: Sequence[int], around: int) -> None:
        """Copy merged columns in vectors of the panels, which perhaps cross rows of the operand.

        The distances of what a vector contains repeat after some vectors. If these are written one
        after the other, the distances are constants, and vectors are put together in registers.

        Args:
            copy: the block that copies.
            columns: positions of the merged iterators.
            around: number of loops around it that belong to others.
        """
        sch, lanes = self.sch, self.tile.lanes
        accesses = accesses_of(block_of(sch, copy))
        loops = loops_by_iterator(sch, copy, around)
        merged = [accesses.spatial[n] for n in columns]
        others = [loop for var, loop in loops.items() if not any(var is item for item in merged)]
        own = [loops[var] for var in merged if var in loops]
        sch.reorder(*others, *own)
        vectors = -(-accesses.count(merged) // lanes)
        period = accesses.extent(merged[-1]) // math.gcd(accesses.extent(merged[-1]), lanes)
        unrolled = vectors if vectors <= MOST_VECTORS_UNROLLED else period
        _, vector, lane = sch.split(sch.fuse(*own), [None, unrolled, lanes])
        if unrolled <= MOST_VECTORS_UNROLLED:
            sch.unroll(vector)
        sch.vectorize(lane)

    def _share(self, copy: BlockRV, around: int) -> None:
        """Let cores share a copy.

        Args:
            copy: the block that copies.
            around: number of loops around it that belong to others.
        """
        machine, outer, pieces = self.plan.machine, [], 1
        for loop in self.sch.get_loops(copy)[around:]:
            extent = extent_of(self.sch, loop)
            if self.sch.get(loop).kind is not ForKind.SERIAL or pieces >= PIECES * machine.cores:
                break
            outer.append(loop)
            pieces *= machine.cores if extent is None else extent
        parallelize(self.sch, outer, machine)

    def _convert_panels(self, copy: BlockRV, place: LoopRV | None) -> None:
        """Store panels in the type of the sums; those of a constant, which come from memory sooner
        as they are, when they are used.

        Args:
            copy: the block that packs them.
            place: the loop in each iteration of which some panels are used.
        """
        sch, (operand,) = self.sch, self.plan.found.moving
        if operand.buffer.data not in constant_memory(sch):
            sch.unsafe_set_dtype(copy, 0, self.dtype)
            return
        panels = block_of(sch, copy).writes[0].buffer.name
        converted = sch.cache_read(self.block, panels, "global", [self.block])
        sch.unsafe_set_dtype(converted, 0, self.dtype)
        if place is not None:
            sch.compute_at(converted, place)
        self.vectorize(converted, loops_around(sch, converted, place))

    def pack_rows(self) -> None:
        """Copy the operand with rows: those of a tile side by side for each step of the sum."""
        plan, sch, accesses = self.plan, self.sch, self.plan.found.accesses
        (operand,) = plan.found.fixed
        iterators = self.iterators
        used = [n for n, var in enumerate(iterators) if operand.mentions(var)]
        (row,), inner = (positions_of(v, iterators) for v in ([plan.found.row], accesses.reduction))
        around = [n for n in used if n not in (row, *inner)]
        height = self.tile.rows

        def layout(*values: Expr) -> tuple[Any, ...]:
            outer, steps = ([values[n] for n in group] for group in (around, inner))
            return (*outer, values[row] // height, *steps, values[row] % height)

        index_map = IndexMap.from_func(layout, len(iterators))
        copy = sch.reindex_cache_read(self.block, operand.buffer.name, "global", index_map)
        if operand in plan.converted:
            sch.unsafe_set_dtype(copy, 0, self.dtype)
        at = dict(zip(used, sch.get_loops(copy), strict=True))
        panel, lane = sch.split(at[row], [None, height])
        outer = [*(at[n] for n in around), panel]
        sch.reorder(*outer, *(at[n] for n in inner), lane)
        sch.unroll(lane)
        parallelize(sch, outer, plan.machine)

    def fill_rows(self, step: LoopRV) -> None:
        """Fill up groups of steps of the operand with rows right before they are multiplied.

        Args:
            step: the innermost loop over steps that is not unrolled.
        """
        plan, sch = self.plan, self.sch
        if plan.dot is not None and fills_rows_in_registers(plan):
            (operand,) = plan.found.fixed
            copy_in_registers(sch, self.block, plan.found, operand, step, plan.dot.size)

    def convert_unpacked(self) -> Sequence[StridedAccess]:
        """Convert operands that are not packed.

        Returns:
            Those that are to be converted for each tile of rows.
        """
        plan, left = self.plan, []
        packed = [*plan.found.moving] if plan.packed else []
        packed += plan.found.fixed if plan.packs_rows else ()
        for operand in plan.converted:
            if operand in packed or convert_producer(self.sch, self.block, operand, self.dtype):
                continue
            if plan.converts_tiles(operand):
                left.append(operand)
            else:
                convert_copy(self.sch, self.block, operand, self.dtype, plan.machine)
        return left
