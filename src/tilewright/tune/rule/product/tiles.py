"""Tiles of a product for registers and caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.decisions import at_least, at_most, choose, quotient_up
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import loops_by_iterator, parallelize
from tilewright.schedule_rules.tiles import RegisterTile
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tune.rule.product.form import Form

SHORTEST_SUM: Final = 128
"""Steps of a block of a sum, at least."""

UNROLLED: Final = (1, 2, 4)
"""How many steps of a long sum may be unrolled."""

MOST_UNROLLED: Final = 9
"""How many steps of short sums, such as those over a window, may be unrolled."""

PARTS: Final = (0, 1, 2, 4)
"""Eighths of a core's cache that a block of the operand with columns may fill; 0 for a panel."""

FEW_ROWS: Final = 128
"""With no more, each panel is better used for all rows before the next one is brought near."""


@dataclass(frozen=True, eq=False)
class Tiled:
    """The loops of a tiled product; some may run once.

    Attributes:
        outermost: the loops around all others, up to blocks of columns.
        sums: blocks of the sum; None where it is not blocked.
        rows: the loops over what one block of columns is used for.
        tile: the innermost loop around a tile of registers and its sum.
        step: the innermost loop of the sum that is not unrolled.
    """

    outermost: list[LoopRV]
    sums: LoopRV | None
    rows: list[LoopRV]
    tile: LoopRV
    step: LoopRV

    @property
    def panels(self) -> LoopRV:
        """The innermost loop in which all uses of some panels of columns are."""
        return self.sums or self.outermost[-1]


def tile_loops(
    sch: Schedule, form: Form, plan: Plan, tile: RegisterTile, machine: Machine, *, blocked: bool
) -> Tiled:
    """Tile the loops of a product for registers and caches, with decisions left open.

    ::

        for outer, columns, sums, outer, rows, panel, row:  # blocks that stay in a cache
            for step:                                       # of the sum
                for step, row, vector, lane:                # unrolled: a tile of registers

    Args:
        sch: the schedule.
        form: the product.
        plan: its sizes.
        tile: the tile of registers.
        machine: the machine.
        blocked: whether the sum is cut into blocks, each of which visits all tiles.
    """
    loops = loops_by_iterator(sch, form.block)
    depth = [loops[var] for var in form.depth]
    count: Any = 1
    if blocked and len(depth) == 1:
        count = choose(sch, sum_blocks(plan.depth), 1)
        sums, loop = sch.split(depth[0], [count, None])
        depth = [loop]
    else:
        sums = None
    steps, inner_steps = split_steps(sch, form, plan, depth)
    panels = panel_count(sch, plan, tile, machine, count)
    columns, panel, vector, lane = sch.split(
        loops[form.column], [None, panels, tile.vectors, tile.lanes]
    )
    height = row_block(sch, plan, tile, machine)
    row_block_loop, row, inner_row = sch.split(loops[form.row], [None, height, tile.rows])
    outermost = [*(loops[v] for v in form.first), columns]
    rows = [*(loops[v] for v in form.then), row_block_loop]
    around = [*outermost, *([sums] if sums else []), *rows, panel, row]
    sch.reorder(*around, *steps, *inner_steps, inner_row, vector, lane)
    for loop in (*inner_steps, inner_row, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    return Tiled(outermost, sums, rows, row, steps[-1])


def split_steps(
    sch: Schedule, form: Form, plan: Plan, depth: list[LoopRV]
) -> tuple[list[LoopRV], list[LoopRV]]:
    """The loops of the sum that stay loops, and those that are unrolled."""
    if len(depth) == 1:
        step, inner = sch.split(depth[0], [None, choose(sch, UNROLLED, UNROLLED[-1])])
        return [step], [inner]
    extents = [plan.found.accesses.extent(var) for var in form.depth]
    steps, inner_steps, unrolled = list(depth), [], 1
    for n in range(len(depth) - 1, 0, -1):
        unrolled *= extents[n]
        if unrolled > MOST_UNROLLED:
            break
        steps[n], inner = sch.split(depth[n], [None, choose(sch, (1, extents[n]), extents[n])])
        inner_steps.insert(0, inner)
    return steps, inner_steps


def sum_blocks(depth: int) -> list[int]:
    """Into how many blocks of the same length a sum may be cut."""
    most = max(1, depth // SHORTEST_SUM)
    return [n for n in range(1, most + 1) if n == 1 or depth % (n * UNROLLED[-1]) == 0]


def panel_count(sch: Schedule, plan: Plan, tile: RegisterTile, machine: Machine, sums: Any) -> Any:
    """How many panels of columns a block has: as many as fit a part of the cache."""
    part = choose(sch, PARTS, 0 if by_panels(plan) else PARTS[-1]) * (machine.own_cache // 8)
    steps = quotient_up(plan.depth, sums)
    fitting = part // (steps * plan.itemsize * tile.width)
    whole = quotient_up(plan.width_of_all, tile.width)
    shared = whole // machine.cores if shares_columns(plan, machine) else whole
    return at_least(at_most(fitting, shared), 1)


def row_block(sch: Schedule, plan: Plan, tile: RegisterTile, machine: Machine) -> Any:
    """How many tiles one below the other are computed before the next panel is."""
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if 4 * count < plan.rows]
    whole = quotient_up(plan.rows, tile.rows)
    shared = whole if shares_columns(plan, machine) else whole // machine.cores
    preferred = plan.rows if by_panels(plan) else 1
    return at_least(at_most(choose(sch, [*counts, plan.rows], preferred), shared), 1)


def by_panels(plan: Plan) -> bool:
    """Whether each panel should be used for all rows before the next one is."""
    return plan.exceeds_cache() and (not plan.packed or plan.rows <= FEW_ROWS)


def shares_columns(plan: Plan, machine: Machine) -> bool:
    """Whether cores work on different columns, rather than on different rows."""
    found = plan.found
    outer = found.accesses.count(v for v in found.outer if found.moving[0].mentions(v))
    return outer * (plan.width_of_all // plan.width) >= machine.cores


def share(sch: Schedule, plan: Plan, tiled: Tiled, machine: Machine) -> None:
    """Let cores share the outermost loops; the last step, because it fuses them."""
    loops = tiled.outermost if shares_columns(plan, machine) else tiled.rows
    parallelize(sch, loops, machine)
