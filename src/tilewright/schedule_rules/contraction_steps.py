"""The steps that tile a contraction as a plan says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Var
from tilewright.schedule_rules.balance import divides_evenly
from tilewright.schedule_rules.contraction_operands import Operands
from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.contraction_prefetches import Prefetches
from tilewright.schedule_rules.contraction_results import Results
from tilewright.schedule_rules.converted_operands import convert_copy
from tilewright.schedule_rules.decisions import choose, without
from tilewright.schedule_rules.dot_product_steps import pad, prepare_operands
from tilewright.schedule_rules.nest import Nest, extent_of, parallelize
from tilewright.schedule_rules.panel_sizes import STEPS, block_depths, panel_counts
from tilewright.schedule_rules.tiled_contraction import TiledContraction
from tilewright.schedule_rules.tiles import RegisterTile, choose_tile
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.tile_registers import TILE_SCOPE

MOST_UNROLLED: Final = 128
"""Maximum number of multiply-adds of vectors that are written one after the other."""

ENOUGH_PRODUCTS: Final = 48
"""Number of products of vectors beside which the instructions of a loop itself do not count."""

FEW_STEPS: Final = 2
"""How many steps are unrolled that each ask for several lines: 4 to 7 % faster than 4 on a Xeon of
2023."""

LEAST_ITERATIONS: Final = 4
"""Minimum number of iterations of a loop whose steps are unrolled."""


def tile_contraction(plan: Plan, epilogue: Sequence[BlockRV], sch: Schedule, nest: Nest) -> None:
    """Tile the loops of a contraction, and vectorise; pack operands if planned.

    Args:
        epilogue: element-wise blocks that read the result, for each tile of it.
    """
    if plan.in_tiles:
        tile = RegisterTile(1, 1, plan.lanes)
    else:
        # Dot products have whole vectors of columns, the last ones filled up with zeros.
        columns = plan.width_of_all if plan.dot is None else max(plan.width_of_all, plan.lanes)
        tile = choose_tile(
            sch, plan.tile, plan.rows, columns, plan.lanes, plan.machine,
            plan.other_registers,
        )  # fmt: skip
    _Steps(plan, sch, nest, tile).apply(epilogue)


@dataclass
class _Loops:
    """The loops of a tiled contraction.

    Attributes:
        needed: outer ones on which the operand with columns depends.
        then: other outer ones.
        column: over blocks of panels.
        blocks: over blocks of the sum, if it has several.
        tile: over tiles of rows.
        panel: over the panels of a block, if it may have several.
        beside: over neighbours in the result that are written together, if there are any.
        depth: over the steps of a block of the sum.
        row: over the rows of a tile.
        vector: over the vectors of a tile.
        lane: over the lanes of a vector, or the rows that an instruction multiplies by them.
        group: inside of it: over those lanes, and the steps that an instruction takes at once.
    """

    needed: Sequence[LoopRV]
    then: Sequence[LoopRV]
    column: LoopRV
    blocks: Sequence[LoopRV]
    tile: LoopRV
    panel: Sequence[LoopRV]
    beside: Sequence[LoopRV]
    depth: Sequence[LoopRV]
    row: LoopRV
    vector: LoopRV
    lane: LoopRV
    group: Sequence[LoopRV]


class _Copies(NamedTuple):
    """Where panels are copied.

    Attributes:
        complete: the loops around the columns that all rows use before the next ones.
        around: those of them that are around the copies, beside the blocks of the sum.
        has_own: whether each core has copies of its own.
    """

    complete: Sequence[LoopRV]
    around: Sequence[LoopRV]
    has_own: bool


class _Steps(TiledContraction):
    """The steps for one block."""

    def apply(self, epilogue: Sequence[BlockRV]) -> None:
        """Take all steps."""
        plan, sch = self.plan, self.sch
        parts = (plan, sch, self.nest, self.tile)
        operands, prefetches, results = Operands(*parts), Prefetches(*parts), Results(*parts)
        epilogue = self._prepare(operands, results, epilogue)
        left = operands.convert_unpacked()
        loops = self._split()
        around = self._order(loops)
        sch.reorder(*around, *loops.depth, loops.row, loops.vector, loops.lane, *loops.group)
        for operand in left:
            convert_copy(sch, self.block, operand, self.dtype, plan.machine, loops.tile)
        copies = self._place_of_copies(loops)
        panels = self._pack(loops, copies, operands, prefetches) if plan.packed else None
        if not loops.blocks:
            complete = around
        else:
            complete = copies.complete if copies.has_own or not plan.packed else []
        wider = [loops.tile, *loops.panel][-1] if loops.beside else None
        in_tiles = results.schedule_consumers(epilogue, complete, wider)
        is_cut = plan.width_of_all % plan.lanes != 0 and not (in_tiles or plan.stages_results)
        least = 1 if is_cut or plan.dot is not None else 0
        steps, unrolled = self._unroll_steps(loops.depth, least)
        operands.fill_rows([*loops.depth, *steps][-1])
        if plan.reads_blocks:
            prefetches.prefetch_next_block([*loops.panel, loops.column][0])
        elif panels is None:
            prefetches.prefetch_columns(steps, unrolled)
        else:
            prefetches.prefetch_panels(loops.column, steps, unrolled, panels)
            prefetches.prefetch_rows(steps)
        self._vectorize(loops, steps)
        if plan.outer == 0:
            parallelize(sch, self._divided(loops, copies), plan.machine)

    def _prepare(
        self, operands: Operands, results: Results, epilogue: Sequence[BlockRV]
    ) -> Sequence[BlockRV]:
        """Fill up operands with zeros, and give results memory of their own, as planned; what reads
        the results then."""
        plan, sch = self.plan, self.sch
        if plan.dot is not None:
            epilogue = prepare_operands(sch, self.block, plan, epilogue)
        elif plan.fills_lanes:
            epilogue = pad(sch, self.block, plan.multiples(), epilogue, plan.found.moving)
        if plan.stages_results:
            epilogue = results.stage(epilogue)
        if plan.in_tiles:
            epilogue = [sch.cache_write(self.block, 0, TILE_SCOPE), *epilogue]
        if plan.packs_rows:
            operands.pack_rows()
        return epilogue

    def _split(self) -> _Loops:
        """Split loops into those over tiles, and those of a tile."""
        plan, sch, f, dot = self.plan, self.sch, self.plan.found, self.plan.dot
        is_padded = dot is not None or plan.fills_lanes
        loops = self.nest.again(sch).loops if is_padded else self.nest.loops
        group: list[LoopRV] = []
        if dot is not None:
            sizes = [dot.size // dot.neighbors, dot.neighbors]
            factors = [None, *(sizes if plan.in_tiles else sizes[1:])]
            loops[dot.step], *group = sch.split(loops[dot.step], factors)
        column = self._column(loops)
        outer = [v for v in without(f.outer, *plan.columns) if v in loops]
        needed = [loops[v] for v in outer if any(load.mentions(v) for load in f.moving)]
        then = [loops[v] for v in outer if not any(load.mentions(v) for load in f.moving)]
        depth = [loops[v] for v in f.accesses.reduction if v in loops]
        counts = panel_counts(plan)
        sizes = [self.tile.vectors]
        if counts != [1]:
            sizes.insert(0, choose(sch, counts, 1 if self.streams_panels() else counts[-1]))
        if dot is None:
            block_column, *panel, vector, lane = sch.split(column, [None, *sizes, self.tile.lanes])
        else:  # there are only whole vectors, so that no lane has a condition
            column, lane = sch.split(column, [None, self.tile.lanes])
            block_column, *panel, vector = sch.split(column, [None, *sizes])
        rows = loops[f.row]
        if dot is not None and plan.multiplies_matrices:
            rows, part_row = sch.split(rows, [None, dot.kind.rows])
            lane, *group = part_row, lane, *group
        tile, row = sch.split(rows, [None, self.tile.rows])
        blocks: list[LoopRV] = []
        if plan.block_depth is not None:
            length = choose(sch, block_depths(plan), plan.block_depth)
            block_step, depth[0] = sch.split(depth[0], [None, length])
            blocks.append(block_step)
        neighbor = plan.neighbor_of_rows()
        beside = [loops[neighbor]] if neighbor is not None and neighbor in loops else []
        then = [loop for loop in then if loop not in beside]
        return _Loops(
            needed, then, block_column, blocks, tile, panel, beside, depth, row, vector, lane, group
        )

    def _takes_rows_in_turn(self, loops: _Loops) -> bool:
        return self.plan.takes_rows_in_turn() and not loops.blocks

    def _order(self, loops: _Loops) -> Sequence[LoopRV]:
        """The loops around a tile, outermost first.

        A panel is used for all that it does not depend on, before the next one is packed.
        """
        plan, panel, tile = self.plan, loops.panel, loops.tile
        if self._takes_rows_in_turn(loops):
            return [*loops.needed, *loops.then, tile, loops.column, *panel]
        if plan.keeps_all_columns():
            return [*loops.then, tile, *loops.needed, loops.column, *panel, *loops.beside]
        first = [*loops.needed, loops.column, *loops.blocks]
        if plan.reads_blocks:  # a panel stays near for all rows
            return [*first, *panel, *loops.then, tile]
        return [*first, *loops.then, tile, *panel, *loops.beside]

    def _place_of_copies(self, loops: _Loops) -> _Copies:
        plan = self.plan
        if plan.keeps_all_columns():
            return _Copies([], [], False)
        is_single = plan.width_of_all <= panel_counts(plan)[-1] * plan.width
        is_first = is_single or self._takes_rows_in_turn(loops)
        complete = loops.needed if is_first else [*loops.needed, loops.column]
        # Where columns are merged, those of a panel are not a box of the operand.
        is_whole = plan.has_one_stretch or not plan.packed
        place = complete if is_whole else loops.needed
        has_own = self._divides_evenly(place, loops.column, [*loops.panel, loops.vector])
        if not plan.packed or not (has_own or loops.blocks or place is not complete):
            place = []
        return _Copies(complete, place, has_own)

    def _pack(
        self, loops: _Loops, copies: _Copies, operands: Operands, prefetches: Prefetches
    ) -> Buffer:
        """Copy the operand with columns into panels."""
        plan = self.plan
        shared = self._loops_of_operand()
        if shared is not None:  # once for all iterations of the others
            return operands.pack(shared[-1] if shared else None, shared=not shared)
        copied = [*copies.around, *loops.blocks] if plan.has_one_stretch else copies.around
        panels = operands.pack(copied[-1] if copied else None, shared=not copies.has_own)
        if loops.blocks:
            prefetches.prefetch_next_copy(loops.blocks[0])
        elif loops.column in copied and plan.machine.cores == 1:
            prefetches.prefetch_next_copy(loops.column)
        return panels

    def _vectorize(self, loops: _Loops, steps: Sequence[LoopRV]) -> None:
        """Write out the rows and vectors of a tile, in vectors or other instructions."""
        plan, sch = self.plan, self.sch
        sch.unroll(loops.row)
        sch.unroll(loops.vector)
        if plan.dot is None:
            sch.vectorize(loops.lane)
            return
        init = sch.decompose_reduction(self.block, [*loops.blocks, *steps][0])
        of_vector = sch.get_loops(init)[-2 if plan.multiplies_matrices else -1 :]
        if plan.in_tiles:
            sch.tensorize(of_vector[0], plan.dot.tile_intrinsic("zero"))
        else:
            sch.vectorize(sch.fuse(*of_vector))
        sch.tensorize(loops.lane, plan.dot.intrinsic(self.tile.lanes))

    def _divided(self, loops: _Loops, copies: _Copies) -> Sequence[LoopRV]:
        """The loops that cores divide among them."""
        several = [loop for loop in copies.complete if extent_of(self.sch, loop) != 1]
        if several and (copies.has_own or (loops.blocks and not self.plan.packed)):
            return several
        others = [] if loops.blocks else without(several, *copies.around)
        return [*others, *loops.then, loops.tile]

    def _divides_evenly(
        self, loops: Sequence[LoopRV], column: LoopRV, vectors: Sequence[LoopRV]
    ) -> bool:
        """Whether each core has iterations of some loops of its own, about as many as others, or
        nothing is for this block to divide; otherwise cores share each copy, and then the rows.

        Args:
            loops: around the copies.
            column: the loop over blocks of columns, of which the last one may be shorter.
            vectors: the loops over the vectors of a block.
        """
        plan, sch = self.plan, self.sch
        several = [loop for loop in loops if extent_of(sch, loop) != 1]
        filled = 1.0
        if column in several:
            extents = [extent_of(sch, loop) or 1 for loop in (column, *vectors)]
            filled = plan.width_of_all / (math.prod(extents) * self.tile.lanes)
        is_divided = bool(several) and divides_evenly(sch, several, plan.machine, filled)
        return plan.outer > 0 or is_divided

    def _loops_of_operand(self) -> Sequence[LoopRV] | None:
        """The outer ones of the loops that are shared with other blocks, if the operand with
        columns does not depend on the others; None if it depends on all.

        On several cores, the shared loops run in parallel, and nothing is between them.
        """
        plan, (operand,) = self.plan, self.plan.found.moving
        spatial = plan.found.accesses.spatial[: self.nest.shared]
        used = [n for n, var in enumerate(spatial) if operand.mentions(var)]
        count = used[-1] + 1 if used else 0
        if count == len(spatial):
            return None
        return self.sch.get_loops(self.block)[:count] if plan.machine.cores == 1 else []

    def _column(self, loops: dict[Var, LoopRV]) -> LoopRV:
        """One loop over all columns."""
        plan, f = self.plan, self.plan.found
        merged = [loops[var] for var in plan.columns]
        if len(merged) == 1:
            return merged[0]
        outer = [v for v in without(f.outer, *plan.columns) if v in loops]
        depth = [loops[v] for v in f.accesses.reduction if v in loops]
        self.sch.reorder(*(loops[v] for v in outer), loops[f.row], *merged, *depth)
        return self.sch.fuse(*merged)

    def _unroll_steps(self, depth: Sequence[LoopRV], least: int) -> tuple[Sequence[LoopRV], Any]:
        """Unroll the innermost steps of the sum, if they are few.

        Args:
            depth: the loops over the steps.
            least: number of loops that stay in any case: partly masked results are in registers
                around a loop, and in memory between statements without one.

        Returns:
            The loops that are left, and the number of steps of the innermost one that each of its
            iterations takes.
        """
        of_step = count = 4 if self.plan.in_tiles else self.plan.tile.rows * self.plan.tile.vectors
        extents = [extent_of(self.sch, loop) for loop in depth]
        steps = [n for n, extent in enumerate(extents) if extent != 1]  # others are no loops
        least = 0 if not least else steps[0] + 1 if steps else len(depth)
        left = len(depth)
        while left > least:
            extent = extents[left - 1]
            if extent is None or count * extent > MOST_UNROLLED:
                break
            count *= extent
            self.sch.unroll(depth[left - 1])
            left -= 1
        if left == 0 or count > of_step:
            return depth[:left], 1
        last, unrolled = self._unroll_some(depth[left - 1], extents[left - 1], of_step)
        return [*depth[: left - 1], last], unrolled

    def _unroll_some(self, loop: LoopRV, extent: int | None, products: int) -> tuple[LoopRV, Any]:
        """Unroll some of the innermost steps of a long sum; how many is left to the search.

        Where the next panel comes in parts, each step asks for one, without a burst, and few steps
        ask for several lines; where each step converts what it reads, the loop itself is little of
        the work.

        Args:
            loop: the loop over the steps.
            extent: how many there are, if that is known.
            products: number of products of vectors in a step.

        Returns:
            The loop that is left, and the number of steps in each of its iterations.
        """
        if extent is None or extent < LEAST_ITERATIONS * STEPS[-1] or self.plan.in_tiles:
            return loop, 1
        # Instructions that take several steps have no conditions, which steps left over need.
        counts = [n for n in STEPS if self.plan.dot is None or extent % n == 0]
        is_streamed = self.plan.packed and self.streams_panels()
        converts = len(self.plan.converted) < len(self.plan.found.accesses.converted)
        preferred = next((n for n in counts if n * products >= ENOUGH_PRODUCTS), counts[-1])
        if is_streamed or (converts and self.plan.dot is None):
            preferred = 1
        elif self.plan.asks_for_columns():
            preferred = min(FEW_STEPS, preferred)
        unrolled = choose(self.sch, counts, preferred)
        steps, step = self.sch.split(loop, [None, unrolled])
        self.sch.unroll(step)
        return steps, unrolled
