"""Estimates of how long a contraction takes that is tiled in some way."""

from __future__ import annotations

import math
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import StridedAccess
from tilewright.schedule_rules.contraction_plan import FAR_BYTES, IN_MEMORY, Plan
from tilewright.schedule_rules.decisions import without
from tilewright.schedule_rules.dot_products import (
    UNITS,
    Kind,
    block_step_cycles,
    far_rows,
    is_last_axis,
)
from tilewright.schedule_rules.tiles import (
    LOADS,
    PANEL_LOADS,
    arrival,
    panel_stream,
    square_side,
    tile_cost,
)
from tilewright.tir.tile_registers import Block

NEAR_BYTES: Final = 6.0
"""Bytes of an operand that arrive from memory in a cycle, one after the other."""

SHARED_BYTES: Final = 12.0
"""Bytes of an operand that arrive in a cycle from the cache that cores share."""

HIDDEN_BYTES: Final = 16.0
"""Bytes that arrive from memory while other work waits for a cycle, though all of them were asked
for ahead."""

PACKING: Final = 2.0
"""Cycles in which an element is copied into a panel."""

SQUARES: Final = 0.09
"""Cycles in which a byte is copied, as part of squares that are transposed."""

SUMMING: Final = 0.035
"""Cycles in which a byte of an operand with rows is added, where products need the sums of rows."""

PACKING_LINES: Final = 1.0
"""Cycles in which a column of a group of steps is copied into a panel, as part of whole lines."""

UNFOLDING: Final = 0.5
"""The same of windows of an image, of which several have the same elements."""

BLOCK: Final = 128.0
"""Cycles in which the sums of a block in tile registers begin, end and go to memory."""

GROUPING: Final = 0.5
"""Cycles in which an element of an operand with rows is copied, so that groups are side by side."""

COPYING: Final = 0.1
"""The same where they are side by side, but not along the last dimension."""

EVERY_OTHER: Final = 1.6
"""How much longer tiles take whose columns are every other element: a vector of them is put
together from two, by an instruction that waits for the place of a multiplication."""

STAGING: Final = 1.0
"""Cycles in which a result is copied that was collected elsewhere."""


def cycles(plan: Plan, constants: frozenset[Var]) -> float:
    """An estimate of the time, to compare plans.

    Args:
        plan: the plan.
        constants: the memory of operands that are packed when the program is compiled.
    """
    found, accesses = plan.found, plan.found.accesses
    around = without(found.outer, *plan.columns)
    vector_bytes = plan.lanes * plan.itemsize
    stream = panel_stream(plan.tile, plan.depth, vector_bytes, plan.machine)
    if plan.exceeds_cache() and not plan.packed:
        stream = arrival(plan.tile, plan.rows, plan.depth, vector_bytes, plan.machine)
    whole = -(-plan.width_of_all // plan.lanes)
    steps = plan.depth * accesses.count(around)
    loads = PANEL_LOADS if plan.packed else LOADS
    total = steps * tile_cost(plan.tile, plan.rows, whole, stream, loads=loads)
    if not plan.packed and found.skips_columns():
        total *= EVERY_OTHER
    if plan.dot is not None:
        total *= UNITS * plan.dot.cycles(plan.machine)
    if plan.in_tiles:
        total = _cycles_in_tiles(plan, steps, accesses.count(around), constants)
    total += _waiting(plan, total)
    if plan.packed and found.moving[0].buffer.data not in constants:
        panels = accesses.count(var for var in around if found.moving[0].mentions(var))
        total += _packing(plan) * panels * plan.depth * plan.width_of_all
    if plan.dot is not None and not plan.in_tiles:
        total += _grouping(plan, PACKING / plan.dot.size, constants)
    if plan.stages_results:
        total += STAGING * math.prod(map(found.count, accesses.spatial))
    if plan.dot is not None and plan.dot.kind.shifts:
        total += SUMMING * found.fixed[0].elements(1)
    return total


def _packing(plan: Plan) -> float:
    """Cycles in which an element of the operand with columns, or a group of them, is copied."""
    (operand,) = plan.found.moving
    itemsize = operand.buffer.dtype.itemsize
    if plan.dot is None:
        accesses = plan.found.accesses
        steps = [accesses.extent(v) for v in accesses.reduction if operand.stride(v) == 1]
        has_squares = (
            not plan.found.is_contiguous(plan.columns) and max(steps, default=0) >= plan.lanes
        )
        return SQUARES * itemsize if has_squares else PACKING
    if plan.in_tiles:
        per_group = UNFOLDING if plan.found.is_unfolded else PACKING_LINES
        return per_group * (plan.dot.size // plan.dot.neighbors)
    size = plan.dot.size
    side = square_side(plan.depth * size, plan.lanes, operand.buffer.dtype)
    return SQUARES * size * itemsize if plan.has_groups() and side else PACKING


def _grouping(plan: Plan, per_element: float, constants: frozenset[Var]) -> float:
    """Cycles in which the operand with rows is copied, if the steps of a group are not side by side
    in it.

    Args:
        per_element: those in which an element is copied.
    """
    assert plan.dot is not None
    (operand,) = plan.found.fixed
    if is_last_axis(operand, plan.dot.step) or operand.buffer.data in constants:
        return 0.0
    is_contiguous = operand.stride(plan.dot.step) == 1  # as filters of one element are
    return (COPYING if is_contiguous else per_element) * operand.elements(1)


def _cycles_in_tiles(plan: Plan, steps: int, products: int, constants: frozenset[Var]) -> float:
    """Cycles of blocks in tile registers, and of copying the operand with rows if the steps of
    a group are not side by side in it."""
    assert plan.dot is not None
    blocks = plan.rows * -(-plan.width_of_all // plan.lanes)
    total = blocks * (steps * _block_cycles(plan, plan.dot.kind) + BLOCK * products)
    return total + _grouping(plan, GROUPING, constants)


def _block_cycles(plan: Plan, kind: Kind) -> float:
    """Cycles of a step of a block in tile registers, for which rows come from the first cache,
    or from the next one."""
    is_far = far_rows(plan.found.accesses, plan.machine)
    return block_step_cycles(Block(kind.rows, kind.columns), is_far)


def _waiting(plan: Plan, total: float) -> float:
    """Cycles in which operands that come from memory are waited for.

    The operand with columns comes while the first tile of rows is computed, in `total` cycles
    times the part of the rows that these are; the others while the first panel is.
    """
    found = plan.found
    if found.is_unfolded:  # its operands are larger than the image, and nowhere as a whole
        return 0.0
    parts = [(load, plan.tile.rows / plan.rows) for load in found.moving]
    panel = plan.width / max(plan.width, plan.width_of_all)
    parts += [(load, panel) for load in found.fixed]
    waiting = 0.0
    for load, part in parts:
        size = found.accesses.size(load)
        if plan.in_tiles:  # for which the time of multiplying no longer hides an overestimate
            size = min(size, load.elements(1) * load.buffer.dtype.itemsize)
        if size > plan.machine.own_cache // 2:
            is_in_memory = size > IN_MEMORY * plan.machine.shared_cache
            # Dot products are so fast that even what was asked for ahead counts.
            least = size / HIDDEN_BYTES if is_in_memory and plan.dot is not None else 0.0
            speed = _bytes_per_cycle(plan, load, NEAR_BYTES if is_in_memory else SHARED_BYTES)
            waiting += max(least, size / speed - part * total)
    return waiting


def _bytes_per_cycle(plan: Plan, load: StridedAccess, near: float) -> float:
    """How fast an operand comes that no cache of a core holds.

    Args:
        near: how fast lines come one after the other.
    """
    if plan.packed and any(load is item for item in plan.found.moving):
        return near
    return FAR_BYTES if plan.is_far(load) else near
