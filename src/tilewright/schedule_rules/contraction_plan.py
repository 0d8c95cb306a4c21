"""How a contraction is tiled, and the steps that do it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.accesses import Access
from tilewright.schedule_rules.copies import copy_squares, vectorize_tile
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import (
    attempt,
    block_of,
    extent_of,
    loops_by_iterator,
    parallelize,
    present,
    split_into,
)
from tilewright.schedule_rules.operands import Contraction, constant_memory
from tilewright.schedule_rules.structures import apply_rule
from tilewright.schedule_rules.tiles import MEMORY, STREAM, Tile, register_tile, tile_cost
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.limits import LINE_BYTES

ENOUGH_REUSE: Final = 16
"""How often an element must be used, so that packing what exceeds the cache pays."""

LEAST_REUSE: Final = 4
"""How often, so that packing columns that are no neighbours in memory pays."""

MOST_UNROLLED: Final = 128
"""So many multiply-adds of vectors are written one after the other at the most."""

FAR: Final = 2048
"""Bytes between accesses that follow each other, from which on they are seldom on one page."""

AHEAD: Final = 12
"""So many steps of a sum ahead it is asked for what is far away."""

AHEAD_BYTES: Final = 4096
"""So much ahead it is asked for panels that come from memory one after the other."""

ENOUGH_FILLED: Final = 0.75
"""The part of the lanes that should be used."""


NEAR_BYTES: Final = 6.0
"""Bytes of an operand that arrive from memory in a cycle, one after the other."""

FAR_BYTES: Final = 2.0
"""Bytes that arrive in a cycle where the next ones are on another page."""

PACKING: Final = 2.0
"""Cycles in which an element is copied into a panel."""

STAGING: Final = 1.0
"""Cycles in which a result is copied that was collected elsewhere."""


class Plan:
    """The tiles of a contraction.

    Args:
        found: the contraction.
        columns: the iterators that count as columns, the last one over neighbours.
        machine: the machine.
        outer: how many of the loops around the block are fixed already.
        packed: whether the operand with columns is copied into panels first.
    """

    def __init__(
        self,
        found: Contraction,
        columns: Sequence[Var],
        machine: Machine,
        outer: int,
        *,
        packed: bool,
    ) -> None:
        self.found = found
        self.columns = columns
        self.machine = machine
        self.outer = outer
        self.packed = packed
        a = found.accesses
        self.itemsize = found.moving[0].buffer.dtype.itemsize
        self.lanes = machine.lanes(a.stores[0].buffer.dtype)
        self.depth = a.count(a.reduction)
        self.width_of_all = a.count(columns)
        self.rows = a.extent(found.row)
        self.reuse = self.rows * a.count(
            var for var in found.outer if not any(load.mentions(var) for load in found.moving)
        )
        self.tile = self._tile(streams=False)
        if not packed and self.exceeds_cache() and not self.is_narrow():
            self.tile = self._tile(streams=True)
        self.width = self.tile.vectors * self.lanes
        self.block_depth = self._block_depth()

    @property
    def stages_results(self) -> bool:
        """Whether the results of a tile are collected in memory of its own."""
        return self.packed and len(self.columns) > 1

    def _block_depth(self) -> int | None:
        """How many steps of the outermost reduction loop a block has that stays in the cache, while
        it is used for all rows; None if whole panels do, or no block would be used again."""
        reduction = self.found.accesses.reduction
        if not (self.packed or self.is_narrow()) or self.reuse <= self.tile.rows:
            return None
        extent = self.found.accesses.extents[reduction[0]]
        if extent is None or self._panel_bytes() <= self.machine.own_cache // 2:
            return None
        step = self.depth // extent
        # The rows of a tile stay in the first cache, while they are used for each panel.
        fitting = max(1, self.machine.first_cache // 2 // (self.tile.rows * self.itemsize * step))
        whole = (n for n in range(fitting, fitting // 2, -1) if extent % n == 0)
        return next(whole, -(-extent // -(-extent // fitting)))

    def _panel_bytes(self) -> int:
        return self.depth * self.width * self.itemsize

    def _tile(self, *, streams: bool) -> Tile:
        itemsize = self.found.accesses.stores[0].buffer.dtype.itemsize
        return register_tile(
            self.rows, self.width_of_all, self.depth, self.lanes, itemsize, self.machine,
            streams=streams, near=self.found.has_near_rows(),
        )  # fmt: skip

    def is_narrow(self) -> bool:
        """Whether the operand with columns is one panel as it is."""
        width = self.tile.vectors * self.lanes
        return self.width_of_all <= width and self.found.is_contiguous(self.columns)

    def cycles(self, constants: frozenset[Var]) -> float:
        """An estimate of the time, to compare plans.

        Args:
            constants: the memory of operands that are packed when the program is compiled.
        """
        found, accesses = self.found, self.found.accesses
        around = [v for v in found.outer if not any(v is item for item in self.columns)]
        stream = MEMORY if self.exceeds_cache() and not self.packed else STREAM
        whole = -(-self.width_of_all // self.lanes)
        steps = self.depth * accesses.count(around)
        total = steps * tile_cost(self.tile, self.rows, whole, stream)
        total += self._waiting(total)
        if self.packed and found.moving[0].buffer.data not in constants:
            panels = accesses.count(var for var in around if found.moving[0].mentions(var))
            total += PACKING * panels * self.depth * self.width_of_all
        if self.stages_results:
            total += STAGING * accesses.count(accesses.spatial)
        return total

    def _waiting(self, total: float) -> float:
        """Cycles in which operands that come from memory are waited for.

        The operand with columns comes while the first tile of rows is computed, in `total` cycles
        times the part of the rows that these are; the others while the first panel is.
        """
        found = self.found
        parts = [(load, self.tile.rows / self.rows) for load in found.moving]
        panel = self.width / max(self.width, self.width_of_all)
        parts += [(load, panel) for load in found.fixed]
        waiting = 0.0
        for load, part in parts:
            size = found.accesses.size(load)
            if size > self.machine.own_cache // 2:
                waiting += max(0.0, size / self._bytes_per_cycle(load) - part * total)
        return waiting

    def _bytes_per_cycle(self, load: Access) -> float:
        """How fast an operand comes from memory."""
        if self.packed and any(load is item for item in self.found.moving):
            return NEAR_BYTES
        return FAR_BYTES if self.is_far(load) else NEAR_BYTES

    def is_far(self, load: Access) -> bool:
        """Whether the next step of the sum reads an operand from where no cache has it ready."""
        accesses = self.found.accesses
        steps = [load.stride(var) for var in accesses.reduction if accesses.extents[var] != 1]
        if not steps or steps[-1] is None:
            return bool(steps)
        distance = abs(steps[-1]) * self.itemsize
        is_large = accesses.size(load) > self.machine.own_cache // 2
        return distance >= FAR or (is_large and distance >= LINE_BYTES)

    def exceeds_cache(self) -> bool:
        """Whether what is read of the operand with columns does not stay in the cache."""
        return self.depth * self.width_of_all * self.itemsize > self.machine.own_cache // 2

    def is_contiguous(self) -> bool:
        """Whether the columns run over one stretch of the operands that have them."""
        return self.found.is_contiguous(self.columns)

    def leaves_lanes_empty(self) -> bool:
        """Whether rows of columns are so short that vectors are not filled, or others are read
        from far away again for each row."""
        vectors = -(-self.width_of_all // self.lanes)
        if self.width_of_all < ENOUGH_FILLED * vectors * self.lanes:
            return True
        others = max(self.found.accesses.size(load) for load in self.found.fixed)
        return vectors < 2 and others > self.machine.own_cache // 2

    def _panels(self) -> int:
        """How many panels of the operand with columns fill half of the cache.

        One where the number of columns is symbolic: there may be no second one.
        """
        if not self.packed or any(self.found.accesses.extents[var] is None for var in self.columns):
            return 1
        depth = self.depth
        if self.block_depth is not None:
            depth = depth // self.found.accesses.extent(self.found.accesses.reduction[0])
            depth *= self.block_depth
        panel_bytes = depth * self.width * self.itemsize
        panels = -(-self.width_of_all // self.width)
        fitting = max(1, min(panels, self.machine.own_cache // 2 // panel_bytes))
        cores = 1 if self.outer else self.machine.cores
        most = max(1, min(fitting, panels // cores))
        return max(n for n in range(1, most + 1) if panels % n == 0)

    def apply(self, sch: Schedule, block: BlockRV, epilogue: Sequence[BlockRV]) -> None:
        """Tile the loops, and vectorise; pack the operand with columns if that is planned."""
        f = self.found
        if self.stages_results:
            epilogue = self._stage_results(sch, block, epilogue)
        loops = loops_by_iterator(sch, block, self.outer)
        merged = [loops[var] for var in self.columns]
        outer = [
            loops[var]
            for var in f.outer
            if var in loops and not any(var is item for item in self.columns)
        ]
        needed = {
            loops[var]
            for var in f.outer
            if var in loops and any(load.mentions(var) for load in f.moving)
        }
        depth = [loops[var] for var in f.accesses.reduction if var in loops]
        if len(merged) > 1:
            sch.reorder(*outer, loops[f.row], *merged, *depth)
            column = sch.fuse(*merged)
        else:
            column = merged[0]
        (block_column, panel, vector), lane = split_into(
            sch, column, [self._panels(), self.tile.vectors, self.lanes], vector=True
        )
        (block_row,), row = split_into(sch, loops[f.row], [self.tile.rows])
        # A panel is used for all that it does not depend on, before the next one is packed.
        first = [*(loop for loop in outer if loop in needed), *present(block_column)]
        then = [loop for loop in outer if loop not in needed]
        blocks: list[LoopRV] = []
        if self.block_depth is not None:
            block_step, depth[0] = sch.split(depth[0], [None, self.block_depth])
            blocks.append(block_step)
        around = [*first, *blocks, *then, *present(block_row, panel)]
        sch.reorder(*around, *depth, *present(row, vector, lane))
        panels: Buffer | None = None
        if self.packed:
            # Where columns are merged, those of a panel are no box of the operand.
            place = [*first, *blocks] if len(merged) == 1 else [lp for lp in outer if lp in needed]
            panels = self._pack(sch, block, place[-1] if place else None)
        complete = first if blocks else around
        in_tiles = self._schedule_consumers(sch, block, epilogue, complete)
        is_cut = self.width_of_all % self.lanes != 0 and not (in_tiles or self.stages_results)
        steps = self._unroll_steps(sch, depth, 1 if is_cut else 0)
        if panels is None:
            self._prefetch(sch, steps)
        else:
            self._prefetch_panels(sch, steps, panels)
        for loop in present(row, vector):
            sch.unroll(loop)
        sch.vectorize(lane)
        if self.outer == 0:
            parallelize(sch, first or [*then, *present(block_row)], self.machine)

    def _unroll_steps(self, sch: Schedule, depth: Sequence[LoopRV], least: int) -> Sequence[LoopRV]:
        """Unroll the innermost steps of the sum, if they are few.

        Args:
            sch: the schedule.
            depth: the loops over the steps.
            least: how many loops stay in any case: results of which masks cut off a part are in
                registers around a loop, and in memory between statements without one.

        Returns:
            The loops that are left.
        """
        count = self.tile.rows * self.tile.vectors
        for n in range(len(depth) - 1, least - 1, -1):
            extent = extent_of(sch, depth[n])
            if extent is None or count * extent > MOST_UNROLLED:
                return depth[: n + 1]
            count *= extent
            sch.unroll(depth[n])
        return depth[:least]

    def _prefetch(self, sch: Schedule, steps: Sequence[LoopRV]) -> None:
        """Ask ahead for columns that come from far away in each step.

        Hardware does not see a pattern in accesses to another page each time.
        """
        if not self.exceeds_cache() or not steps:
            return
        var = self.found.accesses.reduction[len(steps) - 1]
        extent = extent_of(sch, steps[-1])
        if extent is not None and extent < 2 * AHEAD:
            return
        strides = {load.buffer.name: load.stride(var) for load in self.found.moving}
        far = [n for n, s in strides.items() if s is not None and abs(s) * self.itemsize >= FAR]
        if far:
            sch.annotate(steps[-1], "software_prefetch", dict.fromkeys(far, AHEAD))

    def _prefetch_panels(self, sch: Schedule, steps: Sequence[LoopRV], panels: Buffer) -> None:
        """Ask ahead for panels of a constant that are together larger than the cache.

        They come from memory then, for which hardware that follows a stream is not early enough.
        """
        (operand,) = self.found.moving
        size = self.depth * self.width_of_all * self.itemsize
        is_constant = operand.buffer.data in constant_memory(sch)
        if not steps or not is_constant or size <= self.machine.own_cache:
            return
        outer = self.found.accesses.reduction[: len(steps)]
        inner = self.depth // self.found.accesses.count(outer)
        distance = -(-AHEAD_BYTES // (inner * self.width * self.itemsize))
        # Behind the last step of a panel is the next panel.
        sch.annotate(steps[-1], "software_prefetch", {panels.name: distance})

    def _pack(self, sch: Schedule, block: BlockRV, place: LoopRV | None) -> Buffer:
        """Copy the panels of the operand that an iteration of `place` uses, side by side.

        Returns:
            The panels.
        """
        (operand,) = self.found.moving
        copy = sch.reindex_cache_read(block, operand.buffer.name, "global", self._layout(operand))
        if place is not None:
            sch.compute_at(copy, place)
        iterators = [item.var for item in self.found.accesses.block.iter_vars]
        used = [var for var in iterators if operand.mentions(var)]
        column = position_of(self.columns[-1], used)
        around = loops_around(sch, copy, place)
        if not copy_squares(sch, copy, column, around, self.tile.vectors, self.lanes):
            self._vectorize(sch, copy, around)
        return block_of(sch, copy).writes[0].buffer

    def _layout(self, operand: Access) -> Callable[..., tuple[Any, ...]]:
        """Panels one after the other, in each the steps of the sum, in each of these columns."""
        accesses, width = self.found.accesses, self.width
        iterators = [item.var for item in accesses.block.iter_vars]
        columns = [position_of(var, iterators) for var in self.columns]
        inner = [n for n, var in enumerate(iterators) if operand.mentions(var) and n not in columns]

        is_single = self.width_of_all <= width

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = flattened(values, columns, [accesses.extent(iterators[n]) for n in columns])
            rest = [values[n] for n in inner]
            return (*rest, flat) if is_single else (flat // width, *rest, flat % width)

        return layout

    def _stage_results(
        self, sch: Schedule, block: BlockRV, epilogue: Sequence[BlockRV]
    ) -> Sequence[BlockRV]:
        """Collect the results of a tile in memory of its own, each vector on its own.

        In the result, a vector that sticks out at the end of a row would overlap the next row.

        Returns:
            What reads the tile: the block that copies it, or the only consumer in its place.
        """
        accesses, lanes = self.found.accesses, self.lanes
        iterators = [item.var for item in accesses.block.iter_vars]
        row = position_of(self.found.row, iterators)
        outer = [position_of(var, iterators) for var in self.found.outer]
        columns = [position_of(var, iterators) for var in self.columns]
        outer = [n for n in outer if n not in columns]

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = flattened(values, columns, [accesses.extent(iterators[n]) for n in columns])
            return (*(values[n] for n in outer), values[row], flat // lanes, flat % lanes)

        copy = sch.reindex_cache_write(block, 0, "global", layout)
        if len(epilogue) == 1 and attempt(sch, lambda s: s.compute_inline(copy)) is not None:
            sch.compute_inline(copy)
            return epilogue
        return [copy, *epilogue]

    def _schedule_consumers(
        self,
        sch: Schedule,
        block: BlockRV,
        epilogue: Sequence[BlockRV],
        complete: Sequence[LoopRV],
    ) -> bool:
        """Compute what reads the results for each tile of them, or else on its own.

        A tile of merged columns may be no box of the result.

        Returns:
            Whether something is computed for each tile.
        """
        place = complete[-1] if complete else None
        if epilogue and place is not None and not _is_legal(sch, epilogue[0], place):
            for consumer in epilogue:
                apply_rule(vectorize_elements, sch, consumer, self.machine, self.outer)
            return False
        if epilogue:
            self._separate_rows(sch, block)
        for consumer in epilogue:
            self._append(sch, consumer, place)
        return bool(epilogue)

    def _separate_rows(self, sch: Schedule, block: BlockRV) -> None:
        """Let rows of a result that stays in the function begin at whole vectors.

        Otherwise a vector that sticks out at the end of a row would overlap the next one.
        """
        (store,) = self.found.accesses.stores
        first = next((n for n, i in enumerate(store.indices) if i is self.columns[0]), 0)
        if first > 0 and self.width_of_all % self.lanes:
            sch.storage_align(block, 0, first - 1, self.lanes, 0)

    def _append(self, sch: Schedule, consumer: BlockRV, place: LoopRV | None) -> None:
        """Compute a consumer of the result for each tile of it, or else where it is.

        A tile of merged columns may be no box of the result.
        """
        if place is not None and not _is_legal(sch, consumer, place):
            place = None
        if place is not None:
            sch.reverse_compute_at(consumer, place)
        self._write(sch, consumer, place)

    def _write(self, sch: Schedule, consumer: BlockRV, place: LoopRV | None) -> None:
        """Let what reads the results of a tile run in vectors."""
        self._vectorize(sch, consumer, max(self.outer, loops_around(sch, consumer, place)))

    def _vectorize(self, sch: Schedule, block: BlockRV, around: int) -> None:
        """Let a block run in vectors along the columns, inside of the loops `around` it."""
        vectorize_tile(sch, block, around, self.tile.vectors, self.lanes)


def _is_legal(sch: Schedule, consumer: BlockRV, place: LoopRV) -> bool:
    """Whether a consumer can be computed in each iteration of the loop `place`."""
    return attempt(sch, lambda s: s.reverse_compute_at(consumer, place)) is not None


def loops_around(sch: Schedule, block: BlockRV, place: LoopRV | None) -> int:
    """How many of the loops around a block are `place` or outside of it."""
    if place is None:
        return 0
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return 1 + next(n for n, loop in enumerate(loops) if loop is sch.get(place))


def position_of(var: Var, iterators: Sequence[Var]) -> int:
    """Which of `iterators` is `var`."""
    return next(n for n, item in enumerate(iterators) if item is var)


def flattened(values: Sequence[Expr], positions: Sequence[int], extents: Sequence[int]) -> Any:
    """The number of an element in a box: the last of `positions` varies fastest."""
    flat: Any = values[positions[0]]
    for position, extent in zip(positions[1:], extents[1:], strict=True):
        flat = flat * extent + values[position]
    return flat
