"""Blocks that a rule has scheduled as a whole.

The rules are applied to each block one after the other. One that gives a block all of its loops
claims it; the others, and postprocessors that would change loops of a reduction, leave it alone.
"""

from __future__ import annotations

from typing import Final

from tilewright.tir.schedule import BlockRV, Schedule

CLAIMED: Final = "tune.claimed_by"
"""The annotation of such a block: the name of the rule."""


def claim(sch: Schedule, block: BlockRV, rule: str) -> None:
    """Keep other rules from scheduling a block.

    Args:
        sch: the schedule.
        block: the block.
        rule: what the rule is called.
    """
    sch.annotate(block, CLAIMED, rule)


def is_claimed(sch: Schedule, block: BlockRV) -> bool:
    """Whether a rule has scheduled the block as a whole."""
    return CLAIMED in sch.get(block).annotations
