"""`TileProduct`: sums of products in tiles of registers, with packed operands and epilogues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tilewright.schedule_rules.contraction_plan import LEAST_REUSE, Plan
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.operands import Contraction, find_contraction
from tilewright.schedule_rules.plain_nest import Nest
from tilewright.schedule_rules.structures import Structure
from tilewright.schedule_rules.tiles import RegisterTile, choose_tile
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.nest_rule import NestRule
from tilewright.tune.rule.product.epilogue import append_epilogue, consumer_of, join_epilogue
from tilewright.tune.rule.product.form import Form, matrix_form, merge_result, plain_form
from tilewright.tune.rule.product.packing import (
    cut_into_panels,
    fetch_ahead,
    fetch_next_copy,
    lay_out_windows,
    pack,
    pack_rows,
)
from tilewright.tune.rule.product.tiles import (
    by_panels,
    share,
    tile_loops,
)


@dataclass(frozen=True, eq=False)
class Way:
    """One way to tile a product.

    Attributes:
        plan: its sizes, with the iterators that count as columns.
        packed: whether the operand with columns is copied into panels.
        blocked: whether the sum may be cut into blocks; an epilogue is then computed for blocks of
            columns, instead of for each tile.
    """

    plan: Plan
    packed: bool
    blocked: bool


class TileProduct(NestRule):
    """Tiles sums of products for registers and caches.

    These are products of matrices (one or many, of any operand transposed) and convolutions: blocks
    in which one operand does not depend on the rows of the result, and another not on its columns.
    ::

        for columns:                    # a block of panels, which stays in the cache of a core
            for sums:                   # a block of the sum
                copy panels of the operand with columns
                for rows, panel, row:
                    for step:           # fetches what later steps read
                        a tile of rows x vectors in registers: unrolled steps, rows and vectors
                    the element-wise consumers of the tile

    The sketches differ in what has to be another structure: whether the operand is packed (not if
    it stays in the cache, and its columns are neighbours); whether the columns are one iterator, or
    several merged ones, such as the pixels of an image, whose windows then become a matrix; whether
    consumers follow each tile, or each block of columns, which allows for blocks of the sum. The
    operand with rows is packed where each step of the sum reads them from another place.

    Left to the search, with what is known of good values:

    * the tile. Its accumulators, with the vectors of one step, must fit the registers, and there
      should be 12 or more of them to hide the latency of additions; more loads than
      multiplications waste time. 6 x 4 vectors is the best for large products with 32 registers,
      less where rows or columns are few, so that no tile is cut off.
    * unrolled steps: 4 or 2; 1 costs some percents.
    * blocks of the sum: 1 is mostly the best, since each of them loads and stores all results.
    * the part of the cache that a block of columns takes: 2 or 4 eighths; with less, rows are read
      more often. Where rows are few (up to about 128) and the operand with columns does not stay in
      the cache: 0, one panel after the other.
    * rows of tiles that are computed before the next panel: 1, so that the operands of few rows
      stay in the first cache while the panels pass; all where panels come one after the other.
    * how far ahead panels are asked for: 0 for packed ones, or more where other programs use the
      shared cache; 16 steps for those that come from memory. What the next copy reads: 1 where
      panels come one after the other.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """The ways to tile a sum of products in which operands are used again and again."""
        found = find_contraction(nest.accesses)
        if found is None:
            return []
        has_epilogue = consumer_of(sch, nest.block) is not None
        return [partial(self._tiled, way) for way in ways(found, self.machine, has_epilogue)]

    def _tiled(self, way: Way, sch: Schedule, nest: Nest) -> Sequence[BlockRV]:
        scheduled: list[BlockRV] = []
        plan, machine, block = way.plan, self.machine, nest.block
        consumer = join_epilogue(sch, block)
        tile = choose_tile(sch, plan.tile, plan.rows, plan.width_of_all, plan.lanes, machine)
        if len(plan.columns) > 1:
            form, is_packed, consumer = self._matrix(way, sch, block, consumer, tile, scheduled)
        else:
            form, is_packed = plain_form(block, plan), False
        if len(plan.columns) == 1 and rows_are_scattered(plan, machine):
            scheduled.append(pack_rows(sch, form, plan, tile, machine))
        tiled = tile_loops(sch, form, plan, tile, machine, blocked=way.blocked)
        name = form.operand
        if way.packed and not is_packed:
            copy = pack(sch, form, tile, tiled)
            name = sch.get(copy).writes[0].buffer.name
            scheduled.append(copy)
            if form.is_contiguous and not way.blocked and machine.cores == 1:
                fetch_next_copy(sch, form, tiled, by_panels(plan))
        streams = not way.packed and plan.exceeds_cache()
        fetch_ahead(sch, tiled, name, 4 if streams else 0)
        if consumer is not None:
            append_epilogue(sch, form, tile, tiled, consumer)
            scheduled.append(consumer)
        share(sch, plan, tiled, machine)
        return scheduled

    def _matrix(
        self,
        way: Way,
        sch: Schedule,
        block: BlockRV,
        consumer: BlockRV | None,
        tile: RegisterTile,
        scheduled: list[BlockRV],
    ) -> tuple[Form, bool, BlockRV | None]:
        """The product with its columns merged; whether they are in panels; and what reads it."""
        plan = way.plan
        windows = None
        if not plan.is_contiguous():
            copies = lay_out_windows(sch, block, plan, self.machine)
            scheduled += copies
            windows = sch.get(copies[0]).writes[0].buffer.name
        consumer = merge_result(sch, block, consumer, plan, tile.lanes)
        form = matrix_form(sch, block, plan, windows)
        if windows is not None:
            cut_into_panels(sch, form, tile)
        return form, windows is not None, consumer


def ways(found: Contraction, machine: Machine, has_epilogue: bool) -> Iterator[Way]:
    """The ways that may be the fastest."""
    merged, single = found.mergeable(), (found.column,)
    movable = len(found.moving) == 1
    plain = Plan(found, single, machine, 0, packed=False)
    size = plain.depth * plain.width_of_all * plain.itemsize
    fills_lanes = len(merged) == 1 or not plain.leaves_lanes_empty()
    if len(merged) > 1 and movable:
        yield from _merged_ways(found, machine, has_epilogue, fills_lanes)
        if found.is_contiguous(merged):
            return
    is_large = size > machine.own_cache // 4
    if movable and plain.reuse >= LEAST_REUSE and (is_large or not plain.is_contiguous()):
        packed = Plan(found, single, machine, 0, packed=True)
        if len(found.accesses.reduction) == 1 or not plain.is_contiguous():
            can_block = not has_epilogue and not by_panels(packed)
            yield Way(packed, packed=True, blocked=can_block)
            if has_epilogue:
                yield Way(packed, packed=True, blocked=True)
    if plain.is_contiguous() and fills_lanes and size <= machine.own_cache:
        yield Way(plain, packed=False, blocked=False)


def rows_are_scattered(plan: Plan, machine: Machine) -> bool:
    """Whether each step of the sum reads rows from another place, which are not neighbours of its.

    Such places are so many, and often so far apart, that a cache does not hold those of a tile.
    """
    accesses, fixed = plan.found.accesses, plan.found.fixed
    if len(fixed) != 1 or plan.width_of_all < LEAST_REUSE * plan.width:
        return False
    (operand,) = fixed
    strides = [operand.stride(v) for v in accesses.reduction if accesses.extents[v] != 1]
    if not all(stride is not None and stride > 1 for stride in strides):
        return False
    return accesses.size(operand) > machine.own_cache // 4


def _merged_ways(
    found: Contraction, machine: Machine, has_epilogue: bool, fills_lanes: bool
) -> Iterator[Way]:
    """The ways with several iterators as columns."""
    packed = Plan(found, found.mergeable(), machine, 0, packed=True)
    if packed.is_contiguous():
        can_block = not has_epilogue and not by_panels(packed)
        if packed.reuse >= LEAST_REUSE:
            yield Way(packed, packed=True, blocked=can_block)
        unpacked = Plan(found, found.mergeable(), machine, 0, packed=False)
        yield Way(unpacked, packed=False, blocked=False)
    elif packed.reuse >= LEAST_REUSE and (
        not fills_lanes or packed.depth * packed.width_of_all * packed.itemsize <= machine.own_cache
    ):
        # The windows of an image are more than the image, and are laid out all at once.
        yield Way(packed, packed=True, blocked=not has_epilogue)
