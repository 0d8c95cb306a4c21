"""Blocks that a rule has scheduled as a whole.

The rules are applied to each block one after the other. One that gives a block all of its loops
claims it; the others, and postprocessors that would change loops of a reduction, leave it alone.
"""

from __future__ import annotations

from typing import Final

from tilewright.schedule_rules.plain_nest import is_plain
from tilewright.tir.schedule import BlockRV, Schedule

CLAIMED: Final = "tune.claimed_by"
"""The annotation of such a block: the name of the rule."""


def claim(sch: Schedule, block: BlockRV, rule: str) -> None:
    """Keep other rules from scheduling a block.

    Args:
        sch: the schedule.
        block: the block.
        rule: name of the rule.
    """
    sch.annotate(block, CLAIMED, rule)


def claim_changed(before: Schedule, after: Schedule, block: BlockRV, rule: str) -> None:
    """Claim a block, and those that a rule has scheduled or added with it.

    Args:
        before: the schedule before the steps of the rule.
        after: the schedule after them.
        block: the block.
        rule: name of the rule.
    """
    view = before.copy()  # looking at it leaves no instructions in the trace
    plain = {view.get(item).name_hint: is_plain(view, item) for item in siblings(view, block)}
    found = siblings(after, block)
    view = after.copy()
    for item in found:
        was_plain = plain.get(view.get(item).name_hint, True)
        if view.get(item) is view.get(block) or (was_plain and not is_plain(view, item)):
            claim(after, item, rule)


def is_claimed(sch: Schedule, block: BlockRV) -> bool:
    """Whether a rule has scheduled the block as a whole."""
    return CLAIMED in sch.get(block).annotations


def siblings(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    """The blocks of the function that a block is in."""
    name, _ = sch.statement(block)
    return sch.get_child_blocks(sch.get_block(sch.mod[name].body.block.name_hint, name))
