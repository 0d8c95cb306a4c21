"""A contraction that is tiled as a plan says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.far_memory import has_large_cache
from tilewright.schedule_rules.nest import Nest
from tilewright.schedule_rules.operands import constant_memory
from tilewright.schedule_rules.tiles import RegisterTile, vectorize_tile
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.tile_registers import COLUMNS

MOST_TILES_AHEAD: Final = 16
"""How many tiles of rows may use a panel that comes from memory for the first of them."""


@dataclass(frozen=True)
class TiledContraction:
    """What the steps for operands and for results have in common.

    Attributes:
        plan: how it is tiled.
        sch: the schedule.
        nest: the block and its loops.
        tile: the tile of results, whose sizes may be sampled.
    """

    plan: Plan
    sch: Schedule
    nest: Nest
    tile: RegisterTile

    @property
    def block(self) -> BlockRV:
        """The block."""
        return self.nest.block

    @property
    def vectors(self) -> RegisterTile:
        """The tile in vectors: a block in tile registers is in vectors where it is in memory."""
        if not self.plan.in_tiles:
            return self.tile
        return RegisterTile(1, self.tile.lanes // COLUMNS, COLUMNS)

    @property
    def iterators(self) -> list[Var]:
        """The iterators of the block."""
        return [item.var for item in self.plan.found.accesses.block.iter_vars]

    @property
    def dtype(self) -> DType:
        """The type of the sums."""
        return self.plan.found.accesses.stores[0].buffer.dtype

    def flat_column(self, values: Sequence[Expr]) -> Any:
        """The number of a column, given the values of all iterators."""
        accesses = self.plan.found.accesses
        columns = positions_of(self.plan.columns, self.iterators)
        return flattened(values, columns, [accesses.extent(var) for var in self.plan.columns])

    def vectorize(
        self, block: BlockRV, around: int, strip: Any = None, along: int | None = None
    ) -> None:
        """Let a block run in vectors along the columns, inside of the loops `around` it.

        Args:
            strip: see `vectorize_tile`.
            along: likewise.
        """
        if self.plan.in_tiles:
            vectors, lanes = self.vectors.vectors, self.vectors.lanes
        else:
            vectors, lanes = self.plan.tile.vectors, self.plan.lanes
        vectorize_tile(self.sch, block, around, vectors, lanes, strip, along)

    def copies_strips(self) -> bool:
        """Whether each row of a large operand is copied to all panels before the next rows.

        Panel by panel, lines of too many rows come from far away, which hardware cannot follow.
        """
        plan, (operand,) = self.plan, self.plan.found.moving
        is_large = plan.columns_bytes > plan.machine.own_cache // 2
        is_constant = operand.buffer.data in constant_memory(self.sch)
        is_contiguous = plan.has_one_stretch and plan.found.is_contiguous(plan.columns)
        is_far = is_large and has_large_cache(plan.machine) and not is_constant
        return plan.dot is None and is_contiguous and is_far

    def fetches_panels(self) -> bool:
        """Whether panels of a constant are together larger than the cache.

        They come from memory then, for which hardware that follows a stream is not early enough.
        Where many tiles of rows use a panel, nearly all of them find it in the cache; so they do
        where it is converted first.
        """
        plan = self.plan
        if plan.converts_columns():
            return False
        (operand,) = plan.found.moving
        is_constant = operand.buffer.data in constant_memory(self.sch)
        is_seldom = plan.reuse <= MOST_TILES_AHEAD * plan.tile.rows
        return is_constant and is_seldom and plan.columns_bytes > plan.machine.own_cache

    def reads_panels_once(self) -> bool:
        """Whether panels come from memory for a single tile of rows."""
        return self.plan.rows <= self.plan.tile.rows and self.fetches_panels()

    def streams_panels(self) -> bool:
        """Whether the next panel is fetched while several tiles of rows use one, in parts.

        All rows are read again for each panel, so they must stay in the first cache.
        """
        plan = self.plan
        has_tiles = plan.rows > plan.tile.rows and plan.block_depth is None
        row_bytes = plan.rows * plan.depth * plan.itemsize
        is_near = row_bytes <= plan.machine.first_cache
        return has_tiles and is_near and self.fetches_panels()


def positions_of(variables: Iterable[Var], iterators: Sequence[Var]) -> list[int]:
    """Which of `iterators` the variables are."""
    return [next(n for n, item in enumerate(iterators) if item is var) for var in variables]


def flattened(values: Sequence[Expr], positions: Sequence[int], extents: Sequence[int]) -> Any:
    """The number of an element in a box: the last of `positions` varies fastest."""
    flat: Any = values[positions[0]]
    for position, extent in zip(positions[1:], extents[1:], strict=True):
        flat = flat * extent + values[position]
    return flat
