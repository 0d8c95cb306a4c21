"""Rules that leave to postprocessors and to the search what becomes of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.error import ArgumentValueError
from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.nest import attempt, block_of, realize_of
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.block_facts import (
    TILING_STRUCTURE,
    consumers_of,
    is_root,
    is_spatial,
    loops_around,
    tree_of,
)
from tilewright.tune.rule.schedule_rule import CLAIMED, ScheduleRule, is_claimed

PARALLEL: Final = "meta_schedule.parallel"
VECTORIZE: Final = "meta_schedule.vectorize"
UNROLL_EXPLICIT: Final = "meta_schedule.unroll_explicit"
UNROLL_IMPLICIT: Final = "meta_schedule.unroll_implicit"

FIRST_STEP: Final = 64
"""The sketch unrolls loops up to about as many statements as a tile of registers has."""


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Says of a function which loops may run in parallel, as vectors, and unrolled.

    The loops are not known before all decisions are; so the root block gets annotations, which the
    postprocessor `RewriteParallelVectorizeUnroll` carries out.

    Args:
        max_jobs_per_core: the most iterations of parallel loops for each core; -1 for no parallel
            loops. One core alone has none.
        max_vectorize_extent: the most lanes; -1 for no vectors.
        unroll_max_steps: how many statements an unrolled nest may have, from which the search
            chooses; None for no unrolling.
        unroll_explicit: whether loops are unrolled here, and not left to the backend.
    """

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        for name, value in (
            ("max_jobs_per_core", max_jobs_per_core),
            ("max_vectorize_extent", max_vectorize_extent),
        ):
            if value != -1 and value < 1:
                raise ArgumentValueError(
                    f"ParallelizeVectorizeUnroll: {name} is at least 1, or -1; got {value}"
                )
        self.max_jobs_per_core = max_jobs_per_core
        self.max_vectorize_extent = max_vectorize_extent
        self.unroll_max_steps = [int(step) for step in unroll_max_steps or ()]
        self.unroll_explicit = unroll_explicit

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` with annotations of `block`, if that is the root block."""
        if not is_root(sch, block):
            return [sch]
        if self.max_jobs_per_core != -1 and self.target.num_cores > 1:
            sch.annotate(block, PARALLEL, self.max_jobs_per_core * self.target.num_cores)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, VECTORIZE, self.max_vectorize_extent)
        if self.unroll_max_steps and _has_free_reductions(sch, block):
            preferred = min(self.unroll_max_steps, key=lambda step: abs(step - FIRST_STEP))
            step = choose(sch, self.unroll_max_steps, preferred)
            sch.annotate(block, UNROLL_EXPLICIT if self.unroll_explicit else UNROLL_IMPLICIT, step)
        return [sch]


def _has_free_reductions(sch: Schedule, root: BlockRV) -> bool:
    """Whether a block of the function is a reduction that no rule has claimed."""
    tree = tree_of(sch, root)
    blocks = [realize.block for realize in tree.blocks_below(tree.root)]
    return not all(is_spatial(block) or CLAIMED in block.annotations for block in blocks)


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
