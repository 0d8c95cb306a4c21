"""The steps that tile a contraction as a plan says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.accesses import StridedAccess, accesses_of
from tilewright.schedule_rules.contraction_plan import FAR, Plan
from tilewright.schedule_rules.converted_operands import convert_copy, convert_producer
from tilewright.schedule_rules.decisions import choose, without
from tilewright.schedule_rules.dot_product_steps import (
    current_access,
    inline_padding,
    prepare_operands,
)
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import (
    Nest,
    attempt,
    block_of,
    extent_of,
    loops_around,
    loops_by_iterator,
    parallelize,
    present,
    split_into,
)
from tilewright.schedule_rules.operands import constant_memory
from tilewright.schedule_rules.structures import apply_rule
from tilewright.schedule_rules.tiles import (
    RegisterTile,
    choose_tile,
    copy_groups,
    copy_squares,
    unroll_tile,
    vectorize_tile,
)
from tilewright.tir.buffer import Buffer
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.tile_registers import COLUMNS, TILE_SCOPE
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH

MOST_UNROLLED: Final = 128
"""Maximum number of multiply-adds of vectors that are written one after the other."""

DISTANCES: Final = (0, 4, 8, 12, 16)
"""Prefetch distances in steps of a sum, for what is far away; 0 is none."""

AHEAD: Final = 12
"""The best known distance."""

STEPS: Final = (1, 2, 4)
"""How many steps of a long sum may be unrolled. The more, the fewer instructions are about the loop
itself: where another thread shares the core, multiplications wait for room among instructions."""

AHEAD_BYTES: Final = 4096
"""Prefetch distance in bytes for panels that come from memory one after the other."""

LEAST_ITERATIONS: Final = 4
"""Minimum number of iterations of a loop whose steps are unrolled."""

MOST_TILES_AHEAD: Final = 16
"""How many tiles of rows may use a panel that comes from memory for the first of them."""


def tile_contraction(plan: Plan, epilogue: Sequence[BlockRV], sch: Schedule, nest: Nest) -> None:
    """Tile the loops of a contraction, and vectorise; pack operands if planned.

    Args:
        epilogue: element-wise blocks that read the result, for each tile of it.
    """
    if plan.in_tiles:
        tile = RegisterTile(1, 1, plan.lanes)
    else:
        tile = choose_tile(
            sch, plan.tile, plan.rows, plan.width_of_all, plan.lanes, plan.machine,
            plan.other_registers,
        )  # fmt: skip
    _Steps(plan, sch, nest, tile).apply(epilogue)


@dataclass(frozen=True)
class _Steps:
    """The steps for one block."""

    plan: Plan
    sch: Schedule
    nest: Nest
    tile: RegisterTile

    @property
    def block(self) -> BlockRV:
        """The block."""
        return self.nest.block

    @property
    def _vectors(self) -> RegisterTile:
        """The tile in vectors: a block in tile registers is in vectors where it is in memory."""
        if not self.plan.in_tiles:
            return self.tile
        return RegisterTile(1, self.tile.lanes // COLUMNS, COLUMNS)

    @property
    def _iterators(self) -> list[Var]:
        return [item.var for item in self.plan.found.accesses.block.iter_vars]

    @property
    def _dtype(self) -> DType:
        """The type of the sums."""
        return self.plan.found.accesses.stores[0].buffer.dtype

    def apply(self, epilogue: Sequence[BlockRV]) -> None:
        """Take all steps."""
        plan, sch, f = self.plan, self.sch, self.plan.found
        if plan.dot is not None:
            epilogue = prepare_operands(sch, self.block, plan, epilogue)
        if plan.stages_results:
            epilogue = self._stage_results(epilogue)
        if plan.in_tiles:
            epilogue = [sch.cache_write(self.block, 0, TILE_SCOPE), *epilogue]
        if plan.packs_rows:
            self._pack_rows()
        left = self._convert_unpacked()
        loops = self.nest.loops if plan.dot is None else self.nest.again(sch).loops
        group: list[LoopRV] = []
        if plan.dot is not None:
            sizes = [plan.dot.size // plan.dot.neighbors, plan.dot.neighbors]
            factors = [None, *(sizes if plan.in_tiles else sizes[1:])]
            loops[plan.dot.step], *group = sch.split(loops[plan.dot.step], factors)
        column = self._column(loops)
        outer = [v for v in without(f.outer, *plan.columns) if v in loops]
        needed = [loops[v] for v in outer if any(load.mentions(v) for load in f.moving)]
        then = [loops[v] for v in outer if not any(load.mentions(v) for load in f.moving)]
        depth = [loops[v] for v in f.accesses.reduction if v in loops]
        counts = plan.panels()
        sizes = [self.tile.vectors]
        if counts != [1]:
            sizes.insert(0, choose(sch, counts, 1 if self._streams_panels() else counts[-1]))
        if plan.dot is None:
            block_column, *panel, vector, lane = sch.split(column, [None, *sizes, self.tile.lanes])
        else:  # there are only whole vectors, so that no lane has a condition
            column, lane = sch.split(column, [None, self.tile.lanes])
            block_column, *panel, vector = sch.split(column, [None, *sizes])
        rows = loops[f.row]
        if plan.multiplies_matrices:
            assert plan.dot is not None
            rows, part_row = sch.split(rows, [None, plan.dot.kind.rows])
            lane, *group = part_row, lane, *group
        block_row, row = sch.split(rows, [None, self.tile.rows])
        blocks: list[LoopRV] = []
        if plan.block_depth is not None:
            length = choose(sch, plan.block_depths(), plan.block_depth)
            block_step, depth[0] = sch.split(depth[0], [None, length])
            blocks.append(block_step)
        # A panel is used for all that it does not depend on, before the next one is packed.
        around = [*needed, block_column, *blocks, *then, block_row, *panel]
        reads_rows_once = plan.reads_rows_once() and not blocks
        if reads_rows_once:
            around = [*needed, *then, block_row, block_column, *panel]
        sch.reorder(*around, *depth, row, vector, lane, *group)
        for operand in left:
            convert_copy(sch, self.block, operand, self._dtype, plan.machine, block_row)
        is_single = plan.width_of_all <= counts[-1] * plan.width
        first = needed if is_single or reads_rows_once else [*needed, block_column]
        panels: Buffer | None = None
        if plan.packed:
            # Where columns are merged, those of a panel are not a box of the operand.
            place = [*first, *blocks] if len(plan.columns) == 1 else needed
            panels = self._pack(place[-1] if place else None)
            if not (is_single or blocks):
                self._prefetch_next_copy(block_column)
        in_tiles = self._schedule_consumers(epilogue, first if blocks else around)
        is_cut = plan.width_of_all % plan.lanes != 0 and not (in_tiles or plan.stages_results)
        steps, unrolled = self._unroll_steps(depth, 1 if is_cut or plan.dot is not None else 0)
        if panels is None:
            self._prefetch(steps, unrolled)
        else:
            self._prefetch_panels(block_column, steps, unrolled, panels)
        sch.unroll(row)
        sch.unroll(vector)
        if plan.dot is None:
            sch.vectorize(lane)
        else:
            init = sch.decompose_reduction(self.block, [*blocks, *steps][0])
            of_vector = sch.get_loops(init)[-2 if plan.multiplies_matrices else -1 :]
            if plan.in_tiles:
                sch.tensorize(of_vector[0], plan.dot.tile_intrinsic("zero"))
            else:
                sch.vectorize(sch.fuse(*of_vector))
            sch.tensorize(lane, plan.dot.intrinsic(self.tile.lanes))
        if plan.outer == 0:
            parallelize(sch, first or [*then, block_row], plan.machine)

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
        last, unrolled = self._unroll_some(depth[left - 1], extents[left - 1])
        return [*depth[: left - 1], last], unrolled

    def _unroll_some(self, loop: LoopRV, extent: int | None) -> tuple[LoopRV, Any]:
        """Unroll some of the innermost steps of a long sum; how many is left to the search.

        Where the next panel comes in parts, each step asks for one, without a burst; and where each
        step converts what it reads, the loop itself is little of the work.

        Returns:
            The loop that is left, and the number of steps in each of its iterations.
        """
        if extent is None or extent < LEAST_ITERATIONS * STEPS[-1]:
            return loop, 1
        # Instructions that take several steps have no conditions, which steps left over need.
        counts = [n for n in STEPS if self.plan.dot is None or extent % n == 0]
        is_streamed = self.plan.packed and self._streams_panels()
        converts = len(self.plan.converted) < len(self.plan.found.accesses.converted)
        preferred = 1 if is_streamed or (converts and self.plan.dot is None) else counts[-1]
        unrolled = choose(self.sch, counts, preferred)
        steps, step = self.sch.split(loop, [None, unrolled])
        self.sch.unroll(step)
        return steps, unrolled

    def _prefetch(self, steps: Sequence[LoopRV], unrolled: Any) -> None:
        """Ask ahead for columns that come from far away in each step.

        Hardware does not see a pattern in accesses to another page each time.

        Args:
            steps: the loops over the steps of the sum.
            unrolled: the number of steps in an iteration of the innermost one.
        """
        plan = self.plan
        if not plan.exceeds_cache() or not steps:
            return
        var = plan.found.accesses.reduction[len(steps) - 1]
        extent = plan.found.accesses.extents[var]
        if extent is not None and extent < 2 * AHEAD:
            return
        loads = [current_access(self.sch, self.block, plan, load) for load in plan.found.moving]
        strides = {load.buffer.name: load.stride(var) for load in loads}
        far = [n for n, s in strides.items() if s is not None and abs(s) * plan.itemsize >= FAR]
        if far:
            distance = choose(self.sch, DISTANCES, AHEAD) // unrolled
            self.sch.annotate(steps[-1], SOFTWARE_PREFETCH, dict.fromkeys(far, distance))

    def _fetches_panels(self) -> bool:
        """Whether panels of a constant are together larger than the cache.

        They come from memory then, for which hardware that follows a stream is not early enough.
        Where many tiles of rows use a panel, nearly all of them find it in the cache; so they do
        where it is converted first.
        """
        plan = self.plan
        if plan.converts_columns():
            return False
        (operand,) = plan.found.moving
        size = plan.depth * plan.width_of_all * plan.itemsize
        is_constant = operand.buffer.data in constant_memory(self.sch)
        is_seldom = plan.reuse <= MOST_TILES_AHEAD * plan.tile.rows
        return is_constant and is_seldom and size > plan.machine.own_cache

    def _reads_panels_once(self) -> bool:
        """Whether panels come from memory for a single tile of rows."""
        return self.plan.rows <= self.plan.tile.rows and self._fetches_panels()

    def _streams_panels(self) -> bool:
        """Whether the next panel is fetched while several tiles of rows use one, in parts.

        All rows are read again for each panel, so they must stay in the first cache.
        """
        plan = self.plan
        has_tiles = plan.rows > plan.tile.rows and plan.block_depth is None
        row_bytes = plan.rows * plan.depth * plan.itemsize
        is_near = row_bytes <= plan.machine.first_cache
        return has_tiles and is_near and self._fetches_panels()

    def _prefetch_panels(
        self, columns: LoopRV, steps: Sequence[LoopRV], unrolled: Any, panels: Buffer
    ) -> None:
        """Ask ahead for panels.

        Args:
            columns: the loop over panels.
            steps: the loops over the steps of the sum.
            unrolled: the number of steps in an iteration of the innermost one.
            panels: the packed operand.
        """
        plan, accesses = self.plan, self.plan.found.accesses
        if not steps or not self._fetches_panels() or self._reads_panels_once():
            return
        if plan.in_tiles:  # tiles are many lines in order, for which hardware asks ahead
            return
        if self._streams_panels():
            self.sch.annotate(
                columns, SOFTWARE_PREFETCH, {panels.name: choose(self.sch, (0, 1), 1)}
            )
            return
        outer = math.prod(
            plan.steps_of(var) or accesses.extent(var) for var in accesses.reduction[: len(steps)]
        )
        inner = max(1, plan.depth // outer)  # groups that are cut off count as whole ones
        distance = -(-AHEAD_BYTES // (inner * plan.width * plan.itemsize))
        # Behind the last step of a panel is the next panel.
        ahead = choose(self.sch, (0, distance), distance) // unrolled
        self.sch.annotate(steps[-1], SOFTWARE_PREFETCH, {panels.name: ahead})

    def _pack(self, place: LoopRV | None) -> Buffer:
        """Copy the panels of the operand that an iteration of `place` uses, side by side: panels
        one after the other, in each the steps of the sum, in each of these columns.

        Panels that are read once are vectors wide, so that those of a tile are several streams:
        hardware asks ahead for each of them.

        Returns:
            The panels.
        """
        plan, sch, dot = self.plan, self.sch, self.plan.dot
        vectors = 1 if self._reads_panels_once() else self.tile.vectors
        width = vectors * self.tile.lanes
        (operand,) = plan.found.moving
        iterators = self._iterators
        columns = positions_of(plan.columns, iterators)
        used = [n for n, var in enumerate(iterators) if operand.mentions(var)]
        inner = [n for n in used if n not in columns]

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = self._flat_column(values)
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
        name = current_access(sch, self.block, plan, operand).buffer.name
        copy = sch.reindex_cache_read(self.block, name, "global", index_map)
        if dot is not None:
            inline_padding(sch, copy, operand)
            if str(operand.buffer.dtype) != dot.dtypes[1]:
                sch.unsafe_set_dtype(copy, 0, dot.dtypes[1])
        elif operand in plan.converted:
            self._convert_panels(copy, place)
        if place is not None:
            sch.compute_at(copy, place)
        around = loops_around(sch, copy, place)
        if dot is not None:
            (grouped,) = positions_of([dot.step], iterators)
            column, step = used.index(columns[-1]), used.index(grouped)
            copy_groups(sch, copy, column, step, around, self._vectors, dot.neighbors)
        elif not copy_squares(sch, copy, used.index(columns[-1]), around, self.tile):
            self._vectorize(copy, around)
        return block_of(sch, copy).writes[0].buffer

    def _convert_panels(self, copy: BlockRV, place: LoopRV | None) -> None:
        """Store panels in the type of the sums; those of a constant, which come from memory sooner
        as they are, when they are used.

        Args:
            copy: the block that packs them.
            place: the loop in each iteration of which some panels are used.
        """
        sch, (operand,) = self.sch, self.plan.found.moving
        if operand.buffer.data not in constant_memory(sch):
            sch.unsafe_set_dtype(copy, 0, self._dtype)
            return
        panels = block_of(sch, copy).writes[0].buffer.name
        converted = sch.cache_read(self.block, panels, "global", [self.block])
        sch.unsafe_set_dtype(converted, 0, self._dtype)
        if place is not None:
            sch.compute_at(converted, place)
        self._vectorize(converted, loops_around(sch, converted, place))

    def _prefetch_next_copy(self, columns: LoopRV) -> None:
        """Ask ahead for what the next block of columns will copy, if its rows are far apart, or
        the search wants it."""
        plan, (operand,) = self.plan, self.plan.found.moving
        is_constant = operand.buffer.data in constant_memory(self.sch)
        if plan.machine.cores == 1 and plan.found.is_contiguous(plan.columns) and not is_constant:
            ahead = choose(self.sch, (0, 1), 1 if plan.is_far(operand) else 0)
            self.sch.annotate(columns, SOFTWARE_PREFETCH, {operand.buffer.name: ahead})

    def _pack_rows(self) -> None:
        """Copy the operand with rows: those of a tile side by side for each step of the sum."""
        plan, sch, accesses = self.plan, self.sch, self.plan.found.accesses
        (operand,) = plan.found.fixed
        iterators = self._iterators
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
            sch.unsafe_set_dtype(copy, 0, self._dtype)
        at = dict(zip(used, sch.get_loops(copy), strict=True))
        panel, lane = sch.split(at[row], [None, height])
        outer = [*(at[n] for n in around), panel]
        sch.reorder(*outer, *(at[n] for n in inner), lane)
        sch.unroll(lane)
        parallelize(sch, outer, plan.machine)

    def _convert_unpacked(self) -> Sequence[StridedAccess]:
        """Convert operands that are not packed.

        Returns:
            Those that are to be converted for each tile of rows.
        """
        plan, left = self.plan, []
        packed = [*plan.found.moving] if plan.packed else []
        packed += plan.found.fixed if plan.packs_rows else ()
        for operand in plan.converted:
            if operand in packed or convert_producer(self.sch, self.block, operand, self._dtype):
                continue
            if plan.converts_tiles(operand):
                left.append(operand)
            else:
                convert_copy(self.sch, self.block, operand, self._dtype, plan.machine)
        return left

    def _flat_column(self, values: Sequence[Expr]) -> Any:
        """The number of a column, given the values of all iterators."""
        accesses = self.plan.found.accesses
        columns = positions_of(self.plan.columns, self._iterators)
        return flattened(values, columns, [accesses.extent(var) for var in self.plan.columns])

    def _stage_results(self, epilogue: Sequence[BlockRV]) -> Sequence[BlockRV]:
        """Collect the results of a tile in memory of its own, each vector on its own.

        In the result, a vector that sticks out at the end of a row would overlap the next row.

        Returns:
            What reads the tile: the block that copies it, or the only consumer in its place.
        """
        plan, sch, lanes = self.plan, self.sch, self._vectors.lanes
        kept = [*without(plan.found.outer, *plan.columns), plan.found.row]
        positions = positions_of(kept, self._iterators)

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = self._flat_column(values)
            *outer, row = (values[n] for n in positions)
            if plan.in_tiles:
                return (*outer, row, flat)
            if not plan.multiplies_matrices:
                return (*outer, row, flat // lanes, flat % lanes)
            return (*outer, row // lanes, flat // lanes, row % lanes, flat % lanes)

        copy = sch.reindex_cache_write(self.block, 0, "global", layout)
        if len(epilogue) == 1 and attempt(sch, lambda s: s.compute_inline(copy)) is not None:
            sch.compute_inline(copy)
            return epilogue
        return [copy, *epilogue]

    def _schedule_consumers(self, epilogue: Sequence[BlockRV], complete: Sequence[LoopRV]) -> bool:
        """Compute what reads the results for each tile of them, or else on its own.

        A tile of merged columns is perhaps not a box of the result.

        Returns:
            Whether something is computed for each tile.
        """
        plan, sch = self.plan, self.sch
        place = complete[-1] if complete else None
        if epilogue and place is not None and not _is_legal(sch, epilogue[0], place):
            for consumer in epilogue:
                apply_rule(vectorize_elements, sch, consumer, plan.machine, plan.outer)
            return False
        if plan.in_tiles:
            assert plan.dot is not None
            assert place is not None
            store, *epilogue = epilogue
            sch.reverse_compute_at(store, place)
            sch.tensorize(sch.get_loops(store)[-2], plan.dot.tile_intrinsic("store"))
        elif epilogue:
            self._separate_rows()
        for consumer in epilogue:
            at = place if place is not None and _is_legal(sch, consumer, place) else None
            if at is not None:
                sch.reverse_compute_at(consumer, at)
            self._write(consumer, at)
        return bool(epilogue)

    def _separate_rows(self) -> None:
        """Let rows of a result that stays in the function begin at whole vectors.

        Otherwise a vector that sticks out at the end of a row would overlap the next one.
        """
        plan = self.plan
        (store,) = plan.found.accesses.stores
        first = next((n for n, i in enumerate(store.indices) if i is plan.columns[0]), 0)
        if first > 0 and plan.width_of_all % plan.lanes:
            self.sch.storage_align(self.block, 0, first - 1, plan.lanes, 0)

    def _write(self, consumer: BlockRV, place: LoopRV | None) -> None:
        """Let what reads the results of a tile run in vectors."""
        tile = self.plan.tile
        if self.plan.multiplies_matrices and not self.plan.in_tiles:
            self._write_matrices(consumer, place)
        elif not self.plan.transposed:
            around = max(self.plan.outer, loops_around(self.sch, consumer, place))
            self._vectorize(consumer, around)
            if place is not None:
                unroll_tile(self.sch, consumer, place, tile.rows * tile.vectors)
        elif place is not None:
            self._transpose(consumer, place)

    def _write_matrices(self, consumer: BlockRV, place: LoopRV | None) -> None:
        """Write results of which those of an instruction are side by side, in parts of rows."""
        accesses = accesses_of(block_of(self.sch, consumer))
        around = max(self.plan.outer, loops_around(self.sch, consumer, place))
        loops = loops_by_iterator(self.sch, consumer, around)
        for var in accesses.spatial:
            if var in loops and accesses.stores[0].stride(var) == 1:
                _, lane = split_into(self.sch, loops[var], [self.plan.lanes], vector=True)
                self.sch.vectorize(lane)

    def _transpose(self, consumer: BlockRV, place: LoopRV) -> None:
        """Transpose squares of the results in registers."""
        sch, lanes = self.sch, self._vectors.lanes
        accesses = accesses_of(block_of(sch, consumer))
        loops = loops_by_iterator(sch, consumer, loops_around(sch, consumer, place))
        inside = [var for var in accesses.spatial if var in loops]
        along = [var for var in inside if accesses.stores[0].stride(var) == 1]
        across = [var for var in inside if accesses.stores[0].stride(var) != 1]
        if len(along) != 1 or len(across) != 1:
            return
        if (extent_of(sch, loops[along[0]]) or 0) < lanes // 2:
            return
        (piece,), row = split_into(sch, loops[across[0]], [lanes])
        (strip,), lane = split_into(sch, loops[along[0]], [lanes], vector=True)
        sch.reorder(*present(piece, strip), row, lane)
        sch.unroll(row)
        sch.vectorize(lane)

    def _vectorize(self, block: BlockRV, around: int) -> None:
        """Let a block run in vectors along the columns, inside of the loops `around` it."""
        if self.plan.in_tiles:
            vectorize_tile(self.sch, block, around, self._vectors.vectors, self._vectors.lanes)
        else:
            vectorize_tile(self.sch, block, around, self.plan.tile.vectors, self.plan.lanes)


def _is_legal(sch: Schedule, consumer: BlockRV, place: LoopRV) -> bool:
    """Whether a consumer can be computed in each iteration of the loop `place`."""
    return attempt(sch, lambda s: s.reverse_compute_at(consumer, place)) is not None


def positions_of(variables: Iterable[Var], iterators: Sequence[Var]) -> list[int]:
    """Which of `iterators` the variables are."""
    return [next(n for n, item in enumerate(iterators) if item is var) for var in variables]


def flattened(values: Sequence[Expr], positions: Sequence[int], extents: Sequence[int]) -> Any:
    """The number of an element in a box: the last of `positions` varies fastest."""
    flat: Any = values[positions[0]]
    for position, extent in zip(positions[1:], extents[1:], strict=True):
        flat = flat * extent + values[position]
    return flat
