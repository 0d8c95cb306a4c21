"""Copies of the operand with columns, in which each vector of a panel follows the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.contraction_steps import loops_around, position_of
from tilewright.schedule_rules.copies import copy_squares
from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import block_of, extent_of, is_complete, parallelize
from tilewright.schedule_rules.tiles import RegisterTile
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tune.rule.product.form import Form, flat_index, of_these
from tilewright.tune.rule.product.tiles import Tiled

DISTANCES = (0, 4, 8)
"""How many iterations ahead operands may be asked for."""


def pack(sch: Schedule, form: Form, tile: RegisterTile, tiled: Tiled) -> BlockRV:
    """Copy the panels of a block of columns, right before they are used.

    Where columns are not neighbours in the operand, they become so by transposing squares.

    Returns:
        The block that copies.
    """
    iterators = [item.var for item in block_of(sch, form.block).iter_vars]
    column = position_of(form.column, iterators)
    outer = [position_of(var, iterators) for var in form.first]
    inner = [position_of(var, iterators) for var in form.depth]

    def layout(*values: Any) -> tuple[Any, ...]:
        around, steps = ([values[n] for n in group] for group in (outer, inner))
        return (*around, values[column] // tile.width, *steps, values[column] % tile.width)

    index_map = IndexMap.from_func(layout, len(iterators))
    copy = sch.reindex_cache_read(form.block, form.operand, "global", index_map)
    sch.compute_at(copy, tiled.panels, preserve_unit_loops=True)
    used = [n for n in range(len(iterators)) if n in (*outer, column, *inner)]
    around = loops_around(sch, copy, tiled.panels)
    if form.is_contiguous or not copy_squares(sch, copy, used.index(column), around, tile):
        loops = sch.get_loops(copy)
        panel, vector, lane = sch.split(loops[-len(inner) - 1], [None, tile.vectors, tile.lanes])
        sch.reorder(panel, *loops[-len(inner) :], vector, lane)
        sch.unroll(vector)
        sch.vectorize(lane)
    return copy


def pack_rows(
    sch: Schedule, form: Form, plan: Plan, tile: RegisterTile, machine: Machine
) -> BlockRV:
    """Copy the operand with rows, once: those of a tile side by side for each step of the sum.

    Returns:
        The block that copies.
    """
    (operand,) = plan.found.fixed
    iterators = [item.var for item in block_of(sch, form.block).iter_vars]
    row = position_of(form.row, iterators)
    inner = [position_of(var, iterators) for var in form.depth]
    around = [n for n, v in enumerate(iterators) if operand.mentions(v) and n not in (row, *inner)]

    def layout(*values: Any) -> tuple[Any, ...]:
        outer, steps = ([values[n] for n in group] for group in (around, inner))
        return (*outer, values[row] // tile.rows, *steps, values[row] % tile.rows)

    index_map = IndexMap.from_func(layout, len(iterators))
    copy = sch.reindex_cache_read(form.block, operand.buffer.name, "global", index_map)
    used = [n for n in range(len(iterators)) if n in (row, *inner, *around)]
    at = dict(zip(used, sch.get_loops(copy), strict=True))
    panel, lane = sch.split(at[row], [None, tile.rows])
    outer = [*(at[n] for n in around), panel]
    sch.reorder(*outer, *(at[n] for n in inner), lane)
    sch.unroll(lane)
    parallelize(sch, outer, machine)
    return copy


def fetch_ahead(sch: Schedule, tiled: Tiled, name: str, preferred: int) -> None:
    """Ask for what later steps of the sum read of a buffer, some iterations before."""
    sch.annotate(tiled.step, SOFTWARE_PREFETCH, {name: choose(sch, DISTANCES, preferred)})


def fetch_next_copy(sch: Schedule, form: Form, tiled: Tiled, preferred: bool) -> None:
    """Ask for what the next block of columns will copy, during the work on this one."""
    distance = choose(sch, (0, 1), int(preferred))
    sch.annotate(tiled.outermost[-1], SOFTWARE_PREFETCH, {form.operand: distance})


def lay_out_windows(sch: Schedule, block: BlockRV, plan: Plan, machine: Machine) -> list[BlockRV]:
    """Copy what each column needs, once for all rows: the windows of an image become a matrix.

    Args:
        sch: the schedule.
        block: the block, before its iterators are merged.
        plan: the columns to merge.
        machine: the machine.

    Returns:
        The block that copies, into a row for each step of the sum, and those that compute what it
        copies, such as padding.
    """
    found = plan.found
    (operand,) = found.moving
    iterators = [item.var for item in found.accesses.block.iter_vars]
    depth = of_these(iterators, found.accesses.reduction)
    outer = [v for v in found.outer if operand.mentions(v) and v not in set(plan.columns)]

    def layout(*values: Any) -> tuple[Any, ...]:
        around = [values[position_of(v, iterators)] for v in outer]
        return (
            *around,
            flat_index(plan, iterators, depth, values),
            flat_index(plan, iterators, plan.columns, values),
        )

    index_map = IndexMap.from_func(layout, len(iterators))
    copy = sch.reindex_cache_read(block, operand.buffer.name, "global", index_map)
    used = [v for v in iterators if operand.mentions(v) or v in {*plan.columns, *depth}]
    at = dict(zip(used, sch.get_loops(copy), strict=True))
    sch.reorder(*(at[v] for v in (*outer, *depth, *plan.columns)))
    around = [at[v] for v in (*outer, depth[0])]
    copies = [copy]
    for producer in sch.get_producers(copy):
        if is_complete(sch, producer) and len(sch.get_consumers(producer)) == 1:
            sch.compute_at(producer, around[-1])
            _vectorize_last(sch, sch.get_loops(producer), plan.lanes)
            copies.append(producer)
    _vectorize_last(sch, sch.get_loops(copy), plan.lanes)
    parallelize(sch, around, machine)
    return copies


def cut_into_panels(sch: Schedule, form: Form, tile: RegisterTile) -> None:
    """Put the columns of a matrix that are used together next to each other."""

    def layout(*values: Any) -> tuple[Any, ...]:
        *outer, step, column = values
        return (*outer, column // tile.width, step, column % tile.width)

    index_map = IndexMap.from_func(layout, len(form.first) + 2)
    sch.transform_layout(form.block, form.operand, index_map)


def _vectorize_last(sch: Schedule, loops: Sequence[LoopRV], lanes: int) -> None:
    """Run the last of some loops in vectors."""
    extent = extent_of(sch, loops[-1]) or lanes
    fitting = min(lanes, 1 << (extent - 1).bit_length())
    if fitting > 1:
        _, lane = sch.split(loops[-1], [None, fitting])
        sch.vectorize(lane)
