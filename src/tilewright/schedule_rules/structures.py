"""Structures of loops that a rule knows for a block: the default schedule takes the first one that
the primitives accept and that does not unroll too much, the tuner tries all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tilewright.ir.rewrite import walk_once
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    Nest,
    attempt,
    block_of,
    extent_of,
    nest_of,
)
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.stmt import ForKind
from tilewright.tir.transform.machine import Machine

MOST_UNROLLED_NODES: Final = 1 << 15
"""Nodes of statements and expressions that unrolling may make of one block.

They take about a second to compile. The tiles of a block with a short expression have a few
hundred; one with a thousand terms is slow for other reasons than its loops.
"""


def compact(sch: Schedule | None, blocks: Sequence[BlockRV]) -> Schedule | None:
    """The schedule of some blocks, unless it unrolls one to more than `MOST_UNROLLED_NODES`."""
    if sch is None or any(_unrolled_nodes(sch, block) > MOST_UNROLLED_NODES for block in blocks):
        return None
    return sch


def _unrolled_nodes(sch: Schedule, block: BlockRV) -> int:
    """Nodes of the copies of a block in unrolled loops; 0 if there are no copies, or the block has
    become a tensor intrinsic, which is an instruction for each vector of a tile."""
    copies = 1
    view = sch.copy()  # looking at it leaves no instructions in the trace
    try:
        loops = view.get_loops(block)
    except ScheduleError:
        return 0
    for loop in loops:
        if view.get(loop).kind is ForKind.UNROLLED:
            copies *= extent_of(view, loop) or 1
    return 0 if copies == 1 else copies * sum(1 for _ in walk_once(block_of(sch, block).body))


Structure = Callable[[Schedule, Nest], None]
"""Gives a block its loops, with decisions that are left to the search."""

Rule = Callable[[Schedule, Nest, Machine], Sequence[Structure]]
"""The structures that fit a block, the one that is known to be best first. The schedule is
a copy to look at."""


def first_legal(sch: Schedule, nest: Nest, structures: Iterable[Structure]) -> Sequence[Structure]:
    """The first structure that the primitives accept, alone; none if they refuse all."""
    for structure in structures:
        if attempt(sch, lambda s, do=structure: do(s, nest)) is not None:
            return [structure]
    return []


def scheduled_by(
    rules: Sequence[Rule],
    sch: Schedule,
    block: BlockRV,
    machine: Machine,
    shared: int = 0,
    epilogue: Sequence[BlockRV] = (),
) -> Schedule | None:
    """The schedule with the best structure of the first rule that fits; None if none does.

    Structures that unroll too much do not.

    Args:
        shared: number of outermost loops, each of an iterator, that other blocks share.
        epilogue: other blocks that the rules schedule.
    """
    view = sch.copy()
    nest = nest_of(view, block, shared, shared)
    for rule in rules:
        for structure in structures_of(rule, view, nest, machine):
            found = attempt(sch, lambda s, do=structure: do(s, nest.again(s)))
            found = compact(found, [block, *epilogue])
            if found is not None:
                return found
    return None


def apply_rule(rule: Rule, sch: Schedule, block: BlockRV, machine: Machine, outer: int = 0) -> None:
    """Give a block its best structure by a rule, as a step of the structure of another block.

    Raises:
        DoesNotFitError: for a block that the rule is not about.
    """
    apply_first_rule((rule,), sch, block, machine, outer)


def apply_first_rule(
    rules: Sequence[Rule], sch: Schedule, block: BlockRV, machine: Machine, outer: int = 0
) -> None:
    """Give a block its best structure by the first rule that is about it.

    Raises:
        DoesNotFitError: if there is none.
    """
    view = sch.copy()
    nest = nest_of(view, block, outer)
    for rule in rules:
        found = structures_of(rule, view, nest, machine)
        if found:
            found[0](sch, nest.again(sch))
            return
    raise DoesNotFitError(f"no structure by {', '.join(rule.__name__ for rule in rules)}")


def structures_of(rule: Rule, sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """What a rule knows for a block; nothing for one that it is not about."""
    try:
        return rule(sch, nest, machine)
    except DoesNotFitError:
        return []
