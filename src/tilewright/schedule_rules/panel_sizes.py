"""How many steps of a sum, and how many panels, are worked on at once, so that caches hold them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tilewright.schedule_rules.accesses import reach
from tilewright.schedule_rules.far_memory import MUCH, has_large_cache
from tilewright.schedule_rules.tiles import block_bytes
from tilewright.tir.transform.machine import LINE_BYTES

if TYPE_CHECKING:
    from tilewright.schedule_rules.contraction_plan import Plan

SHORTEST_SUM: Final = 128
"""Minimum number of steps of a block of a sum."""

STEPS: Final = (1, 2, 4)
"""How many steps of a long sum may be unrolled. The more, the fewer instructions are about the loop
itself: where another thread shares the core, multiplications wait for room among instructions."""

MOST_STREAMS: Final = 32
"""Number of rows of a matrix that hardware follows at once, to ask ahead for lines from far away: a
core waits for those of others, unless it has much to do with each line."""

SELDOM: Final = 32
"""Number of rows up to which a block of columns that comes from far away is used seldom."""

FEW_PANELS: Final = 4
"""How many panels are copied at once if no number of panels divides all: with 3 to 8, products of
48 to 96 rows are 8 to 16 % faster than with one."""


def block_depth(plan: Plan) -> int | None:
    """How many steps of the outermost reduction loop a block has that stays in the cache, while
    it is used for all rows; None if whole panels do, or no block would be used again."""
    reduction = plan.found.accesses.reduction
    is_copy = plan.packed or plan.near_panels or plan.is_narrow()
    if not is_copy or (plan.reuse <= plan.tile.rows and not plan.reads_blocks):
        return None
    if plan.in_tiles:  # of one block at a time, until its sums are whole
        return None
    extent, machine = plan.steps_of(reduction[0]), plan.machine
    limit = block_bytes(machine) if plan.near_panels else machine.own_cache // 2
    if extent is None or plan.panel_bytes <= limit:
        return None
    step = plan.depth // extent
    # The rows of a tile stay in the first cache, while they are used for each panel.
    fitting = max(1, machine.first_cache // 2 // (_tile_elements(plan, step) * plan.itemsize))
    if plan.near_panels:
        fitting = max(1, min(fitting, limit // (plan.width * plan.itemsize * step)))
    if plan.reads_blocks:
        return _length_as_it_is(plan, extent, fitting)
    lengths = range(fitting, fitting // 2, -1)
    # Best are lengths of which no step is left over where several are unrolled.
    whole = (n for n in sorted(lengths, key=lambda n: n % STEPS[-1] != 0) if extent % n == 0)
    return next(whole, -(-extent // -(-extent // fitting)))


def block_depths(plan: Plan) -> list[int]:
    """Other lengths of a block of the sum, which divide it."""
    if plan.block_depth is None:
        return []
    reduction = plan.found.accesses.reduction
    extent = plan.steps_of(reduction[0]) or plan.depth
    least = max(1, plan.block_depth // 2, SHORTEST_SUM * extent // plan.depth)
    return [n for n in range(least, min(extent, 4 * plan.block_depth) + 1) if extent % n == 0]


def panel_counts(plan: Plan) -> list[int]:
    """How many panels of the operand with columns may be used or copied at once: up to a
    quarter of a cache; or all, in up to half of it, where the rows are too many for it. These
    are read only once then.

    One where the number of columns is symbolic: there may be no second one.
    """
    panels = -(-plan.width_of_all // plan.width)
    if plan.reads_blocks:  # of which the results stay in the cache, block by block of the sum
        size = plan.found.accesses.stores[0].buffer.dtype.itemsize
        most = max(1, plan.machine.own_cache // 4 // (plan.reuse * plan.width * size))
        blocks, cores = -(-panels // most), plan.machine.cores
        return [-(-panels // (-(-blocks // cores) * cores))]  # as many for each core
    if not plan.packed or any(plan.found.accesses.extents[var] is None for var in plan.columns):
        return [1]
    depth = plan.depth
    if plan.block_depth is not None:
        outermost = plan.steps_of(plan.found.accesses.reduction[0]) or depth
        depth = depth // outermost * plan.block_depth
    panel_bytes = depth * plan.width * plan.itemsize
    cache = plan.machine.own_cache
    reads_once = plan.has_far_rows() and panels * panel_bytes <= cache // 2
    # Products in tile registers are so fast that reading rows again for other panels counts.
    part = cache // 2 if plan.in_tiles else cache // 4
    fitting = panels if reads_once else max(1, min(panels, part // panel_bytes))
    # Cores share columns, or rows where all columns are there at once.
    cores = 1 if plan.outer or reads_once else plan.machine.cores
    most = max(1, min(fitting, panels // cores))
    dividing = [n for n in range(1, most + 1) if panels % n == 0]
    # The last block has fewer, or is filled up with panels of zeros, unless about as many
    # divide all. Rows that no cache holds are read again for each block, too; and single
    # panels are copied from too few lines of each row.
    reads_again = plan.in_tiles or plan.has_far_rows()
    if plan.near_panels or (reads_again and 2 * dividing[-1] <= most):
        return [-(-panels // -(-panels // most))]
    if dividing == [1] and plan.exceeds_cache():
        return [-(-panels // -(-panels // min(most, FEW_PANELS)))]
    return dividing[-1:] if plan.in_tiles else dividing


def _tile_elements(plan: Plan, steps: int) -> int:
    """How many elements of the operand with rows a tile uses in an iteration of the outermost
    loop of the sum, of `steps` steps. Windows share most of them."""
    found, accesses = plan.found, plan.found.accesses
    most = plan.tile.rows * steps
    counts = {var: accesses.extent(var) for var in accesses.reduction[1:]}
    counts[found.row] = plan.tile.rows
    for load in filter(found.is_windowed, found.fixed):
        reaches = [reach(index, counts) for index in load.indices]
        if None not in reaches:
            most = min(most, math.prod(n for n in reaches if n is not None))
    return most


def _length_as_it_is(plan: Plan, extent: int, fitting: int) -> int:
    """How many of the steps of a sum a block has of which nothing is copied: the last block may
    be shorter."""
    is_far = plan.columns_bytes >= MUCH * plan.machine.own_cache
    is_seldom = is_far and plan.reuse <= SELDOM
    are_lines = plan.lanes * plan.itemsize >= LINE_BYTES
    if has_large_cache(plan.machine) and (is_seldom or not are_lines):
        fitting = min(fitting, MOST_STREAMS)
    lengths = range(fitting - fitting % STEPS[-1], fitting // 2 - 1, -STEPS[-1])
    kept = (n for n in lengths if n and plan.keeps(n, plan.machine.first_cache))
    # Lines that were asked for ahead are to be there when they are used.
    otherwise = fitting if plan.tile.rows < plan.reuse else fitting // 2
    fitting = max(1, next(kept, otherwise - otherwise % STEPS[-1]))
    length = -(-extent // -(-extent // fitting))
    return min(fitting, -(-length // STEPS[-1]) * STEPS[-1])
