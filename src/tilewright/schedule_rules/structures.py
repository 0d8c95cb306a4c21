"""Structures of loops that a rule knows for a block: the default schedule takes the first one that
the primitives accept, the tuner tries all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.schedule_rules.code_size import compact
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import DoesNotFitError, attempt
from tilewright.schedule_rules.plain_nest import Nest, nest_of
from tilewright.tir.schedule import BlockRV, Schedule

Structure = Callable[[Schedule, Nest], None]
"""Gives a block its loops, with decisions that are left to the search."""

Rule = Callable[[Schedule, Nest, Machine], Sequence[Structure]]
"""The structures that fit a block, the one that is best as far as is known first. The schedule is
a copy to look at."""


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
        rules: the rules.
        sch: the schedule, which stays as it is.
        block: the block.
        machine: the machine.
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
    view = sch.copy()
    nest = nest_of(view, block, outer)
    found = structures_of(rule, view, nest, machine)
    if not found:
        raise DoesNotFitError(f"no structure by {rule.__name__}")
    found[0](sch, nest.again(sch))


def structures_of(rule: Rule, sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """What a rule knows for a block; nothing for one that it is not about."""
    try:
        return rule(sch, nest, machine)
    except DoesNotFitError:
        return []
