"""How much code the unrolled loops of a schedule make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.rewrite import walk_once
from tilewright.schedule_rules.nest import block_of, extent_of
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.stmt import ForKind

MOST_UNROLLED_NODES: Final = 1 << 15
"""Nodes of statements and expressions that unrolling may make of one block.

So many take about a second to compile. The tiles of a block with a short expression have a few
hundred; one with a thousand terms is slow for other reasons than its loops.
"""


def compact(sch: Schedule | None, blocks: Sequence[BlockRV]) -> Schedule | None:
    """The schedule of some blocks, unless it unrolls one to more than `MOST_UNROLLED_NODES`."""
    if sch is None or any(_unrolled_nodes(sch, block) > MOST_UNROLLED_NODES for block in blocks):
        return None
    return sch


def _unrolled_nodes(sch: Schedule, block: BlockRV) -> int:
    """Nodes of the copies of a block in unrolled loops; 0 if there are no copies."""
    copies = 1
    view = sch.copy()  # looking at it leaves no instructions in the trace
    for loop in view.get_loops(block):
        if view.get(loop).kind is ForKind.UNROLLED:
            copies *= extent_of(view, loop) or 1
    return 0 if copies == 1 else copies * sum(1 for _ in walk_once(block_of(sch, block).body))
