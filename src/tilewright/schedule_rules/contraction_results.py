"""Results of a contraction, and what reads them for each tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.expr import Expr
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.decisions import without
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import (
    accepts,
    block_of,
    extent_of,
    loops_around,
    loops_by_iterator,
    present,
    split_into,
)
from tilewright.schedule_rules.operands import function_of
from tilewright.schedule_rules.structures import apply_rule
from tilewright.schedule_rules.tiled_contraction import TiledContraction, positions_of
from tilewright.schedule_rules.tiles import LEAST_LANES, unroll_tile
from tilewright.tir.schedule import BlockRV, LoopRV
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import LINE_BYTES


class Results(TiledContraction):
    """The steps for results."""

    def stage(self, epilogue: Sequence[BlockRV]) -> Sequence[BlockRV]:
        """Collect the results of a tile in memory of its own, each vector on its own.

        In the result, a vector that sticks out at the end of a row would overlap the next row.

        Returns:
            What reads the tile: the block that copies it, or the only consumer in its place.
        """
        plan, sch, lanes = self.plan, self.sch, self.vectors.lanes
        kept = [*without(plan.found.outer, *plan.columns), plan.found.row]
        positions = positions_of(kept, self.iterators)

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = self.flat_column(values)
            *outer, row = (values[n] for n in positions)
            if plan.in_tiles:
                return (*outer, row, flat)
            if not plan.multiplies_matrices:
                return (*outer, row, flat // lanes, flat % lanes)
            return (*outer, row // lanes, flat // lanes, row % lanes, flat % lanes)

        copy = sch.reindex_cache_write(self.block, 0, "global", layout)
        if len(epilogue) == 1 and accepts(lambda: sch.compute_inline(copy)):
            return epilogue
        return [copy, *epilogue]

    def schedule_consumers(
        self, epilogue: Sequence[BlockRV], complete: Sequence[LoopRV], wider: LoopRV | None
    ) -> bool:
        """Compute what reads the results for each tile of them, or else on its own.

        A tile of merged columns is perhaps not a box of the result.

        Args:
            epilogue: what reads the results.
            complete: the loops of which an iteration has a tile of results.
            wider: the one of them of which an iteration has the results that are written together;
                None for those of a tile.

        Returns:
            Whether something is computed for each tile.
        """
        plan, sch = self.plan, self.sch
        if not epilogue:
            return False
        first, *others = epilogue
        place = complete[-1] if complete else None
        if place is None or not accepts(lambda: sch.reverse_compute_at(first, place)):
            for consumer in epilogue:
                apply_rule(vectorize_elements, sch, consumer, plan.machine, plan.outer)
            return False
        if plan.in_tiles:
            assert plan.dot is not None
            sch.tensorize(sch.get_loops(first)[-2], plan.dot.tile_intrinsic("store"))
        else:
            self._separate_rows()
            self._write(first, place)
        wider = place if wider is None else wider
        for consumer in others:
            is_placed = accepts(lambda block=consumer: sch.reverse_compute_at(block, wider))
            self._write(consumer, wider if is_placed else None)
            if is_placed and plan.in_tiles:
                self._prefetch(consumer, wider)
        return bool(others) or not plan.in_tiles

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
            self.vectorize(consumer, around)
            if place is not None:
                unroll_tile(self.sch, consumer, place, tile.rows * tile.vectors)
        elif place is not None:
            self._transpose(consumer, place)

    def _prefetch(self, consumer: BlockRV, place: LoopRV) -> None:
        """Ask, while a block in tile registers is summed up, for the lines of a large result that
        it will be written to: more than can be on their way at once, so that a core would wait.

        A step asks for at most one. Where rows begin within lines, there are too many.
        """
        plan, accesses = self.plan, accesses_of(block_of(self.sch, consumer))
        assert plan.dot is not None
        func = function_of(self.sch)
        results = () if func is None else func.buffer_map.values()
        steps = plan.found.accesses.count(plan.found.accesses.reduction) // plan.dot.size
        for store in accesses.stores:
            line = LINE_BYTES // store.buffer.dtype.itemsize
            lines = plan.dot.kind.rows * -(-plan.dot.kind.columns // line)
            strides = [store.stride(var) or 1 for var in accesses.spatial]
            has_whole_lines = all(stride == 1 or stride % line == 0 for stride in strides)
            is_far = 2 * accesses.size(store) > plan.machine.own_cache
            if store.buffer in results and is_far and has_whole_lines and lines <= steps:
                self.sch.annotate(place, SOFTWARE_PREFETCH, {store.buffer.name: 1})

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
        """Transpose squares of the results in registers; in short rows, calculate in vectors and
        write one result after the other."""
        sch, lanes = self.sch, self.vectors.lanes
        accesses = accesses_of(block_of(sch, consumer))
        loops = loops_by_iterator(sch, consumer, loops_around(sch, consumer, place))
        inside = [var for var in accesses.spatial if var in loops]
        along = [var for var in inside if accesses.stores[0].stride(var) == 1]
        others = [var for var in inside if accesses.stores[0].stride(var) != 1]
        across = others
        if len(others) > 1:  # of an image, too: those that are neighbours before
            across = [v for v in others if any(load.stride(v) == 1 for load in accesses.loads)]
        if len(along) != 1 or len(across) != 1:
            return
        outer = [loops[var] for var in without(others, *across)]
        if (extent_of(sch, loops[along[0]]) or 0) < lanes // LEAST_LANES:
            (piece,), lane = split_into(sch, loops[across[0]], [lanes], vector=True)
            sch.reorder(*outer, *present(piece), loops[along[0]], lane)
            sch.vectorize(lane)
            return
        (piece,), row = split_into(sch, loops[across[0]], [lanes])
        (strip,), lane = split_into(sch, loops[along[0]], [lanes], vector=True)
        sch.reorder(*outer, *present(piece, strip), row, lane)
        sch.unroll(row)
        sch.vectorize(lane)
