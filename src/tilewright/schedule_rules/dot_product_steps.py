"""What is done to the operands of a contraction before it is tiled for dot products."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.ir.expr import Var, is_const_int
from tilewright.schedule_rules.accesses import StridedAccess, accesses_of
from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.decisions import without
from tilewright.schedule_rules.dot_products import grouped_axis, is_last_axis, only_axis
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    accepts,
    block_of,
    extent_of,
    loops_inside,
    present,
    split_into,
)
from tilewright.schedule_rules.operands import Contraction
from tilewright.schedule_rules.reduce_along_columns import reduce_along_columns
from tilewright.schedule_rules.reduce_along_rows import reduce_along_rows
from tilewright.schedule_rules.structures import apply_first_rule, apply_rule
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.machine import Machine

FEW_PARTS: Final = 8
"""Elements of a group up to which vectors of them are interleaved; more are transposed, in squares
that stay in registers."""


def prepare_operands(
    sch: Schedule, block: BlockRV, plan: Plan, epilogue: Sequence[BlockRV]
) -> Sequence[BlockRV]:
    """Let the sum consist of whole groups, the columns of whole vectors, and the steps of a group
    lie side by side in the operand with rows.

    Args:
        epilogue: element-wise blocks that read the result.

    Returns:
        The blocks that read the result now, in order.
    """
    assert plan.dot is not None
    # What is filled up last is guarded as a whole, which is lowered to whole vectors.
    if plan.dot.kind.shifts:
        epilogue = shift(sch, block, plan.found, plan.machine, plan.outer, epilogue)
    epilogue = _pad(sch, block, plan, epilogue)
    _group_rows(sch, block, plan)
    return epilogue


def current_access(
    sch: Schedule, block: BlockRV, found: Contraction, load: StridedAccess
) -> StridedAccess:
    """What a load of a contraction has become in the schedule so far."""
    position = next(n for n, item in enumerate(found.accesses.loads) if item is load)
    return accesses_of(block_of(sch, block)).loads[position]


def inline_padding(sch: Schedule, copy: BlockRV, original: StridedAccess) -> None:
    """Let a copy read an operand itself, in place of what padding and shifting made of it."""
    (load,) = accesses_of(block_of(sch, copy)).loads
    while load.buffer is not original.buffer:
        for producer in sch.get_producers(copy):
            sch.compute_inline(producer)
        (load,) = accesses_of(block_of(sch, copy)).loads


def copy_in_registers(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    operand: StridedAccess,
    step: LoopRV,
    lanes: int,
) -> None:
    """Fill up and shift an operand right before it is multiplied, unless it is read as it is.

    Args:
        block: the block that multiplies.
        operand: the operand as the contraction has it; others may have copied it since.
        step: the innermost loop over steps that is not unrolled.
        lanes: how many elements an instruction multiplies.
    """
    current = current_access(sch, block, found, operand).buffer
    if current is operand.buffer:
        return
    (copy,) = (b for b in sch.get_producers(block) if sch.get(b).writes[0].buffer is current)
    inline_padding(sch, copy, operand)
    sch.compute_at(copy, step)
    *around, along = loops_inside(sch, copy, step)
    (vector,), lane = split_into(sch, along, [lanes])
    for loop in (*around, *present(vector)):
        sch.unroll(loop)
    sch.vectorize(lane)


def _pad(
    sch: Schedule, block: BlockRV, plan: Plan, epilogue: Sequence[BlockRV]
) -> Sequence[BlockRV]:
    if len(plan.columns) > 1 and not plan.is_whole():
        raise DoesNotFitError("merged columns cannot be padded")
    return pad(sch, block, plan.multiples(), epilogue, plan.found.moving)


def pad(
    sch: Schedule,
    block: BlockRV,
    multiples: Mapping[Var, int],
    epilogue: Sequence[BlockRV],
    packed: Sequence[StridedAccess] = (),
) -> Sequence[BlockRV]:
    """Let the extents of iterators be multiples of numbers.

    Args:
        epilogue: element-wise blocks that read the result.
        packed: operands that are packed afterwards. Their indices need not be iterators, as those
            of filters in groups are not, since packing makes one copy of several.

    Returns:
        The blocks that read the result now, in order.
    """
    accesses = accesses_of(block_of(sch, block))
    if accesses.are_multiples(multiples):
        return epilogue
    (store,) = accesses.stores
    padded = {var for var, factor in multiples.items() if not accesses.is_multiple(var, factor)}
    for load in packed:
        sums = (index for index in load.indices if not isinstance(index, Var))
        if any(var in padded for index in sums for var in variables_of(index)):
            sch.reindex(block, load.buffer.name)
    sch.pad_einsum(block, [multiples.get(item.var, 1) for item in accesses.block.iter_vars])
    if accesses_of(block_of(sch, block)).stores[0].buffer is store.buffer:
        return epilogue
    (cut,) = sch.get_consumers(block)  # copies the result without the padding
    return _in_front(sch, cut, epilogue)


def _in_front(sch: Schedule, block: BlockRV, epilogue: Sequence[BlockRV]) -> Sequence[BlockRV]:
    """What reads the result now that a block does so first; the block is a part of what follows it
    if it can be."""
    if epilogue and accepts(lambda: sch.compute_inline(block)):
        return epilogue
    return [block, *epilogue]


def shift(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    machine: Machine,
    outer: int,
    epilogue: Sequence[BlockRV],
) -> Sequence[BlockRV]:
    """Let the operand with columns have the other sign, and correct the results when they are
    read.

    Args:
        outer: how many of the loops around the block are fixed already.
        epilogue: element-wise blocks that read the result.

    Returns:
        The blocks that read the result now, in order.
    """
    (operand,) = found.moving
    name = current_access(sch, block, found, operand).buffer.name
    sch.shift_zero_point(block, name)
    (correction,) = sch.get_consumers(block)
    (sums,) = (b for b in sch.get_producers(correction) if sch.get(b) is not sch.get(block))
    rules = (reduce_along_columns, reduce_along_rows)
    with contextlib.suppress(DoesNotFitError):  # its loops stay as they are
        apply_first_rule(rules, sch, sums, machine, outer)
    return _in_front(sch, correction, epilogue)


def _group_rows(sch: Schedule, block: BlockRV, plan: Plan) -> None:
    """Copy the operand with rows, unless the steps of a group are side by side in it, and next to
    the rows of a tile."""
    dot, (operand,) = plan.dot, plan.found.fixed
    assert dot is not None
    load = current_access(sch, block, plan.found, operand)
    is_stored = str(load.buffer.dtype) == dot.dtypes[0]
    is_as_it_is = load.buffer is operand.buffer or fills_rows_in_registers(plan)
    are_apart = plan.in_tiles and plan.are_apart(operand)
    if is_stored and is_as_it_is and is_last_axis(load, dot.step) and not are_apart:
        return
    copy = sch.cache_read(block, load.buffer.name, "global", [block])
    inline_padding(sch, copy, operand)
    if not is_stored:
        sch.unsafe_set_dtype(copy, 0, dot.dtypes[0])
    axis = grouped_axis(operand, dot.step)
    assert axis is not None
    rank = len(operand.indices)
    behind = operand.buffer.shape[axis + 1 :]
    if not behind or (not plan.in_tiles and all(is_const_int(n, 1) for n in behind)):
        order = list(range(axis + 1))  # without the dimensions of filters of one element
        if are_apart:  # as in a batch of which each has one row
            row_axis, _ = _distant_rows(plan)
            order = [*without(order[:-1], row_axis), row_axis, axis]
        if order != list(range(rank)):
            sch.transform_layout(copy, ("write", 0), lambda *at: tuple(at[n] for n in order))
        around = len(sch.get_loops(copy)) - rank
        apply_rule(vectorize_elements, sch, copy, plan.machine, around)
    else:
        _interleave(sch, copy, axis, dot.size, *_distant_rows(plan))


def fills_rows_in_registers(plan: Plan) -> bool:
    """Whether what fills up the steps of the operand with rows is put there in each step, so that
    it is not copied."""
    (operand,) = plan.found.fixed
    assert plan.dot is not None
    is_stored = str(operand.buffer.dtype) == plan.dot.dtypes[0]
    return is_stored and is_last_axis(operand, plan.dot.step) and not plan.multiplies_matrices


def _distant_rows(plan: Plan) -> tuple[int | None, int]:
    """The dimension along which the rows of a tile lie, and their distance, which strides make more
    than one."""
    (operand,) = plan.found.fixed
    row = plan.found.row
    axis = only_axis(operand, row) if plan.in_tiles else None
    distance = None if axis is None else stride_along(affine(operand.indices[axis]), row)
    return axis, max(distance or 1, 1)


def _interleave(
    sch: Schedule, copy: BlockRV, axis: int, size: int, row_axis: int | None, distance: int
) -> None:
    """Put the elements of a group side by side, and next to each other the rows of a tile.

    Args:
        axis: the dimension along which the elements of a group lie.
        size: number of elements of a group.
        row_axis: the dimension along which the rows of a tile lie, if they are one.
        distance: that of a row and the next one.
    """

    def layout(*indices: Any) -> tuple[Any, ...]:
        places = [[index] for index in indices]
        places[axis] = [indices[axis] // size]
        if row_axis is not None:
            rows = places.pop(row_axis)
            if distance > 1:
                rows = [indices[row_axis] % distance, indices[row_axis] // distance]
            places.append(rows)
        return (*itertools.chain(*places), indices[axis] % size)

    rank = len(sch.get(copy).writes[0].buffer.shape)
    sch.transform_layout(copy, ("write", 0), layout)
    loops = sch.get_loops(copy)[-rank:]
    group, part = sch.split(loops[axis], [None, size])
    others = [n for n in range(rank) if n != axis]
    last = max((n for n in others if extent_of(sch, loops[n]) != 1), default=others[-1])
    around = [group if n == axis else loops[n] for n in range(rank) if n != last]
    along = loops[last]
    if size <= FEW_PARTS:
        pieces, lane = sch.split(along, [None, 16])
        sch.reorder(*around, pieces, part, lane)
        sch.unroll(part)
        sch.vectorize(lane)
        return
    square = math.gcd(size, 16)
    parts, part = sch.split(part, [None, square])
    pieces, row = sch.split(along, [None, square])
    sch.reorder(*around, pieces, parts, row, part)
    sch.unroll(row)
    sch.vectorize(part)
