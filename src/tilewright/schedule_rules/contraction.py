"""Sums of products in which every operand is used again and again: products of matrices, and
convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.accesses import Access, BlockAccesses, accesses_of
from tilewright.schedule_rules.copies import vectorize_tile
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import (
    attempt,
    block_of,
    loops_by_iterator,
    parallelize,
    present,
    split_into,
)
from tilewright.schedule_rules.tiles import register_tile
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule

ENOUGH_REUSE: Final = 16
"""How often a packed element must be used, so that packing pays."""

FEW_STEPS: Final = 16
"""A reduction of so many steps is unrolled."""


@dataclass(frozen=True, eq=False)
class Contraction:
    """How the iterators of a block take part in a product.

    Attributes:
        accesses: the accesses of the block.
        columns: the iterator over neighbours in the result, which run along the lanes of a
            vector; after others of which each step is a whole row of it, if they count as one.
        row: an iterator that the operand with columns does not depend on, so that each vector of
            it is used for several rows.
        outer: the other spatial iterators.
        operand: the access to the operand with columns; None if there are several.
        is_contiguous: whether the columns of all operands are neighbours in memory, too.
    """

    accesses: BlockAccesses
    columns: tuple[Var, ...]
    row: Var
    outer: tuple[Var, ...]
    operand: Access | None
    is_contiguous: bool


def find_contraction(accesses: BlockAccesses) -> Contraction | None:
    """The block as a contraction, if it is one."""
    if accesses.reduces is None or len(accesses.stores) != 1 or len(accesses.loads) < 2:
        return None
    spatial = [var for var in accesses.spatial if accesses.extents[var] != 1]
    store = accesses.stores[0]
    column = next((var for var in spatial if store.stride(var) == 1), None)
    if column is None:
        return None
    moving = [load for load in accesses.loads if load.mentions(column)]
    fixed = [load for load in accesses.loads if not load.mentions(column)]
    if not moving or not fixed:
        return None
    rows = _independent(spatial, moving, column) or _independent(spatial, fixed, column)[-1:]
    if not rows:
        return None
    row = max(rows, key=accesses.extent)
    outer = tuple(var for var in spatial if var is not column and var is not row)
    operand = moving[0] if len(moving) == 1 else None
    is_contiguous = all(load.stride(column) == 1 for load in moving)
    return Contraction(accesses, (column,), row, outer, operand, is_contiguous)


def _independent(spatial: Sequence[Var], loads: Sequence[Access], column: Var) -> list[Var]:
    """The iterators besides `column` that none of `loads` depends on."""
    return [
        var
        for var in spatial
        if var is not column and not any(load.mentions(var) for load in loads)
    ]


def schedule_contraction(
    sch: Schedule, block: BlockRV, epilogue: Sequence[BlockRV], machine: Machine, *, outer: int
) -> Schedule | None:
    """The schedule with a contraction tiled for registers and caches; None for another block.

    Args:
        sch: the schedule.
        block: the block.
        epilogue: element-wise blocks that read the result, for each tile of it.
        machine: the machine.
        outer: how many of the loops around it are fixed already.
    """
    accesses = accesses_of(block_of(sch, block))
    found = find_contraction(accesses)
    if found is None:
        return None
    plan = Plan(found, machine, outer)
    scheduled: Schedule | None = None
    if plan.packs:
        scheduled = attempt(sch, lambda s: plan.apply(s, block, epilogue, packed=True))
    return scheduled or attempt(sch, lambda s: plan.apply(s, block, epilogue, packed=False))


class Plan:
    """The tiles of a contraction."""

    def __init__(self, found: Contraction, machine: Machine, outer: int) -> None:
        self.found = found
        self.machine = machine
        self.outer = outer
        a = found.accesses
        self.dtype = a.stores[0].buffer.dtype
        self.lanes = machine.lanes(self.dtype)
        self.depth = a.count(a.reduction)
        self.columns = a.count(found.columns)
        self.rows = a.extent(found.row)
        self.tile = register_tile(
            self.rows, self.columns, self.depth, self.lanes, self.dtype.itemsize, machine
        )
        self.width = self.tile.vectors * self.lanes
        self.panels = self._panels()

    def _panels(self) -> int:
        """How many panels of the operand with columns fill half of the cache."""
        panel_bytes = self.depth * self.width * self.dtype.itemsize
        panels = -(-self.columns // self.width)
        fitting = max(1, min(panels, self.machine.own_cache // 2 // panel_bytes))
        cores = 1 if self.outer else self.machine.cores
        return max(1, min(fitting, panels // cores))

    @property
    def packs(self) -> bool:
        """Whether the operand with columns should be copied into panels first."""
        operand = self.found.operand
        if operand is None or self.rows < ENOUGH_REUSE:
            return False
        size = self.depth * self.columns * operand.buffer.dtype.itemsize
        return not self.found.is_contiguous or size > self.machine.own_cache // 2

    def apply(
        self, sch: Schedule, block: BlockRV, epilogue: Sequence[BlockRV], *, packed: bool
    ) -> None:
        """Tile the loops, and vectorise; pack the operand with columns if asked to."""
        f = self.found
        loops = loops_by_iterator(sch, block, self.outer)
        columns = [loops[var] for var in f.columns]
        column = columns[0] if len(columns) == 1 else sch.fuse(*columns)
        panels = self.panels if packed else 1
        (block_column, panel, vector), lane = split_into(
            sch, column, [panels, self.tile.vectors, self.lanes]
        )
        (block_row,), row = split_into(sch, loops[f.row], [self.tile.rows])
        outer = [loops[var] for var in f.outer if var in loops]
        depth = [loops[var] for var in f.accesses.reduction if var in loops]
        around = [*outer, *present(block_column, block_row, panel)]
        sch.reorder(*around, *depth, *present(row, vector, lane))
        if packed:
            place = block_column or (outer[-1] if outer else None)
            self._pack(sch, block, place)
        for consumer in epilogue:
            self._append(sch, consumer, around[-1] if around else None)
        if self.depth <= FEW_STEPS:
            for loop in depth:
                sch.unroll(loop)
        for loop in present(row, vector):
            sch.unroll(loop)
        sch.vectorize(lane)
        if self.outer == 0:
            parallelize(sch, [*outer, *present(block_column)], self.machine)

    def _pack(self, sch: Schedule, block: BlockRV, place: LoopRV | None) -> None:
        """Copy the panels of the operand that an iteration of `place` uses, side by side."""
        operand = self.found.operand
        assert operand is not None
        copy = sch.reindex_cache_read(block, operand.buffer.name, "global", self._layout(operand))
        if place is not None:
            sch.compute_at(copy, place)
        self._vectorize(sch, copy, place)

    def _layout(self, operand: Access) -> Callable[..., tuple[Any, ...]]:
        """Panels one after the other, in each the rows, in each row the columns."""
        f, width = self.found, self.width
        iterators = [item.var for item in f.accesses.block.iter_vars]
        inner = [
            n
            for n, var in enumerate(iterators)
            if operand.mentions(var) and not any(var is item for item in f.columns)
        ]
        columns = [n for n, var in enumerate(iterators) if any(var is c for c in f.columns)]
        extents = [f.accesses.extent(var) for var in f.columns]

        def layout(*values: Expr) -> tuple[Any, ...]:
            flat = values[columns[0]]
            for n, extent in zip(columns[1:], extents[1:], strict=True):
                flat = flat * extent + values[n]
            return (flat // width, *(values[n] for n in inner), flat % width)

        return layout

    def _append(self, sch: Schedule, consumer: BlockRV, place: LoopRV | None) -> None:
        """Compute a consumer of the result for each tile of it."""
        if place is not None:
            sch.reverse_compute_at(consumer, place)
        self._vectorize(sch, consumer, place)

    def _vectorize(self, sch: Schedule, block: BlockRV, place: LoopRV | None) -> None:
        """Let a block inside of the loop `place` run in vectors along the columns."""
        around = 0 if place is None else len(sch.get_loops(block)) - _loops_below(sch, block, place)
        vectorize_tile(sch, block, around, self.tile.vectors, self.lanes)


def _loops_below(sch: Schedule, block: BlockRV, place: LoopRV) -> int:
    """How many of the loops around a block are inside of `place`."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    position = next(n for n, loop in enumerate(loops) if loop is sch.get(place))
    return len(loops) - position - 1
