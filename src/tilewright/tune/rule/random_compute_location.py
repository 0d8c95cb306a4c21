"""Where a producer is computed, as a decision of the search."""

from __future__ import annotations

from tilewright.schedule_rules.nest import attempt
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.block_facts import (
    TILING_STRUCTURE,
    block_of,
    consumers_of,
    is_root,
    loops_around,
    realize_of,
    tree_of,
)
from tilewright.tune.rule.claim import CLAIMED, is_claimed
from tilewright.tune.rule.schedule_rule import ScheduleRule

COMPUTE_PRODUCER = "meta_schedule.random_compute_producer"
"""The annotation of a block whose producers, too, get their places from this rule."""

WHERE_IT_IS = -1
"""The decision to leave a block in its place."""


class RandomComputeLocation(ScheduleRule):
    """Lets the search choose where a block is computed: in its place, inlined, or in a loop of its
    first consumer.

    The sketch itself leaves it in its place.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` with a place to choose, if the block has a nest of its own and a consumer."""
        if is_root(sch, block) or is_claimed(sch, block) or not _has_own_nest(sch, block):
            return [sch]
        producers: list[BlockRV] = []
        if COMPUTE_PRODUCER in block_of(sch, block).annotations:
            producers = sch.get_producers(block)
            sch.unannotate(block, COMPUTE_PRODUCER)
        for item in (block, *producers):
            if _may_move(sch, item):
                sch = attempt(sch, lambda s, moved=item: _choose_place(s, moved)) or sch
        return [sch]


def _may_move(sch: Schedule, block: BlockRV) -> bool:
    """Whether the block has a consumer, and none whose loops another rule has laid out."""
    consumers = [realize.block for realize in consumers_of(sch, block)]
    return bool(consumers) and not any(CLAIMED in block.annotations for block in consumers)


def _choose_place(sch: Schedule, block: BlockRV) -> None:
    place = sch.sample_compute_location(block, decision=WHERE_IT_IS)
    sch.compute_at(block, place, preserve_unit_loops=True)


def _has_own_nest(sch: Schedule, block: BlockRV) -> bool:
    """Whether the block is a child of the root block, alone in its loops, and not tiled."""
    tree, realize = tree_of(sch, block), realize_of(sch, block)
    loops = loops_around(sch, block)
    return (
        tree.scope(realize) is tree.root
        and bool(loops)
        and len(tree.blocks_below(loops[0])) == 1
        and TILING_STRUCTURE not in realize.block.annotations
        and (bool(consumers_of(sch, block)) or COMPUTE_PRODUCER in realize.block.annotations)
    )
