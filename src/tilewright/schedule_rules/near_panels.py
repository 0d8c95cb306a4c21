"""When the columns that a tile of a contraction uses should stay in the first cache.

They are copied into short panels, or used as they are, block by block.
"""

from __future__ import annotations

from typing import Final

from tilewright.schedule_rules.contraction_plan import (
    ENOUGH_REUSE,
    FAR_BYTES,
    MUCH_REUSE,
    Plan,
)
from tilewright.schedule_rules.dot_products import UNITS
from tilewright.schedule_rules.far_memory import has_large_cache
from tilewright.schedule_rules.operands import MOST_FEW_ROWS
from tilewright.schedule_rules.panel_sizes import SHORTEST_SUM
from tilewright.schedule_rules.tiles import block_bytes
from tilewright.tir.transform.machine import LINE_BYTES

FEW_USES: Final = 64
"""How seldom an element must be used, so that panels should come from the first cache, though sums
then go to memory and back for each block."""

SOME_USES: Final = 80
"""The same where the columns of a tile come from memory or the shared cache, line by line."""

BLOCK_USES: Final = 128
"""The same where nothing is copied."""

PART_OF_LINE_USES: Final = 48
"""The same where vectors are parts of lines, and panels are not long or the matrix is far away."""

FAR_CACHES: Final = 4
"""Multiple of the cache of a core from which on most of a matrix is not in it."""

SHORT_PANEL: Final = 2
"""Multiple of the first cache up to which a panel is short."""

SHORTEST_BLOCK: Final = 16
"""Minimum number of steps of a block of a sum of which the columns are not copied."""


def prefers_near_panels(plan: Plan) -> bool:
    """Whether panels should stay in the first cache: if the operand comes from memory, and the
    sums of its blocks seldom go there, or few rows use panels from far away that are wide or
    long, or lines that no cache keeps, so many that a panel takes much of the next cache, too.
    """
    is_copied = plan.found.is_contiguous(plan.columns) and not plan.converts_columns()
    has_room = plan.machine.first_cache // 4 >= SHORTEST_SUM * LINE_BYTES
    has_long_panels = is_long(plan)
    is_seldom = plan.uses < FEW_USES and not plan.keeps_columns()
    is_some = plan.uses <= SOME_USES if has_long_panels else plan.is_wide() and plan.uses < FEW_USES
    is_far = is_some and plan.tile.rows < plan.reuse and _comes_from_far_away(plan)
    is_in_memory = plan.is_in_memory() and _sum_bytes_per_cycle(plan) <= FAR_BYTES
    gains = is_in_memory or is_far or (has_long_panels and is_seldom)
    return is_copied and has_room and gains


def is_long(plan: Plan) -> bool:
    """Whether a panel of lines is so long that it takes much of the cache of a core."""
    # The lines of narrow panels come one by one, which takes longer than their share of the cache.
    part = 8 if plan.is_wide() else 16
    return plan.depth * LINE_BYTES >= plan.machine.own_cache // part


def may_prefer_blocks(plan: Plan) -> bool:
    """Whether panels may gain by staying in the first cache as they are, block by block."""
    are_some = 1 < plan.uses <= BLOCK_USES and not keeps_short_panels(plan)
    return are_some and _comes_from_far_away(plan)


def stays_as_it_is(plan: Plan) -> bool:
    """Whether a cache of the core keeps the columns of a tile until so few rows have used them that
    copying takes longer than it saves."""
    if plan.is_in_memory():
        return False
    if plan.reuse < BLOCK_USES and keeps_short_panels(plan):
        return True
    most = PART_OF_LINE_USES if plan.reads_parts_of_lines() else MUCH_REUSE
    return plan.reuse < most and not plan.is_wide() and plan.keeps_columns()


def keeps_short_panels(plan: Plan) -> bool:
    """Whether a large cache keeps panels as they are that are short, until some rows have used
    them: sums stay in registers meanwhile, and nothing is copied."""
    is_short = plan.panel_bytes <= SHORT_PANEL * plan.machine.first_cache
    has_lines = has_large_cache(plan.machine) and not plan.reads_parts_of_lines()
    return is_short and has_lines and plan.uses > MOST_FEW_ROWS and plan.keeps_columns()


def keeps_blocks(plan: Plan) -> bool:
    """Whether blocks of panels, as they are, stay in the first cache; or in the next one, for
    few rows: wide ones of whole lines come from there in time, others sooner than without
    blocks. A large cache has room for what is asked for ahead, too."""
    steps = plan.block_depth or plan.depth
    if steps < SHORTEST_BLOCK:
        return False
    is_near = plan.keeps(steps, plan.machine.first_cache)
    if plan.reads_parts_of_lines():
        is_far = plan.columns_bytes >= FAR_CACHES * plan.machine.own_cache
        gains_long = is_long(plan) and (is_near or not is_far)
        return plan.uses < (BLOCK_USES if gains_long else PART_OF_LINE_USES)
    if is_near:
        return True
    if not plan.keeps(steps, plan.machine.own_cache):
        return False
    if has_large_cache(plan.machine) and plan.is_wide():
        return plan.uses < BLOCK_USES
    if plan.is_wide() and plan.lanes * plan.itemsize >= LINE_BYTES:
        return plan.uses < FEW_USES
    return MOST_FEW_ROWS < plan.uses < ENOUGH_REUSE


def _comes_from_far_away(plan: Plan) -> bool:
    """Whether the columns come from far away as they are: the steps of a block of a panel are
    on so many pages that the next tile of rows would not find them near."""
    found = plan.found
    is_far = plan.exceeds_cache() and not found.has_windows()
    is_constant = None not in map(found.accesses.extents.get, plan.columns)
    is_copied = found.is_contiguous(plan.columns) and not plan.converts_columns()
    return is_far and is_constant and is_copied and len(found.moving) == 1


def _sum_bytes_per_cycle(plan: Plan) -> float:
    """How many bytes of sums go to memory and back in a cycle where panels stay in the first
    cache: those of two vectors, for each of which a step of the sum is a multiply-add."""
    vector_bytes = plan.lanes * plan.found.accesses.stores[0].buffer.dtype.itemsize
    return 2 * UNITS * vector_bytes / max(1, _near_steps(plan))


def _near_steps(plan: Plan) -> int:
    """How many steps of the sum a panel has that stays in the first cache."""
    return block_bytes(plan.machine) // (plan.width * plan.itemsize)
