"""Reductions with too few results, cut into partial ones that are independent."""

from __future__ import annotations

from tilewright.schedule_rules.nest import attempt, block_of, realize_of
from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tune.rule.block_facts import (
    has_reuse,
    is_reduction,
    is_root,
    loop_types,
    spatial_and_reduction_size,
)
from tilewright.tune.rule.deferred import COMPUTE_PRODUCER
from tilewright.tune.rule.schedule_rule import ScheduleRule, is_claimed
from tilewright.tune.rule.tile_sizes import divisor_near

LANES = 16
"""How many partial results the sketch makes, about."""


class AddRFactor(ScheduleRule):
    """Factorises reductions by `Schedule.rfactor`, over the outer or the inner part of their loops.

    A reduction that has as many results as the machine has work for stays as it is, and so does
    one that is tiled.

    Args:
        max_jobs_per_core: how many results for each core are enough.
        max_innermost_factor: the largest inner part; None for no limit.
    """

    def __init__(
        self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None
    ) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self.max_innermost_factor = max_innermost_factor

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """`sch` as it is, and with each of both parts factorised."""
        cores = self.target.num_cores
        enough = self.max_jobs_per_core * cores
        if is_root(sch, block) or not needs_more_parallelism(sch, block, enough, cores):
            return [sch]
        found = [sch]
        for inner in (False, True):
            factored = attempt(sch, lambda s, inner=inner: self._factorize(s, block, inner=inner))
            if factored is not None:
                found.append(factored)
        return found

    def _factorize(self, sch: Schedule, block: BlockRV, *, inner: bool) -> None:
        spatial, reduction = fuse_reduction(sch, block)
        extent = int(sch.get(reduction).extent.value)
        limit = self.max_innermost_factor or -1
        size = divisor_near(extent, LANES if limit == -1 else min(LANES, limit))
        factors = sch.sample_perfect_tile(
            reduction, n=2, max_innermost_factor=limit, decision=[extent // size, size]
        )
        parts = sch.split(reduction, factors)
        sch.rfactor(parts[1 if inner else 0], factor_axis=spatial)
        sch.annotate(block, COMPUTE_PRODUCER, 1)


def needs_more_parallelism(sch: Schedule, block: BlockRV, enough: int, basic: int) -> bool:
    """Whether a reduction has so few results that its sum should be cut.

    Args:
        enough: how many results are enough for one that would otherwise be tiled.
        basic: sums of no more elements than that are never cut.
    """
    if is_claimed(sch, block) or not is_reduction(block_of(sch, block)):
        return False
    types = loop_types(sch, block)
    sizes = spatial_and_reduction_size(sch, block)
    if types is None or sizes is None or IterType.COMM_REDUCE not in types:
        return False
    spatial, reduction = sizes
    if has_reuse(sch, block):
        return spatial < reduction and spatial <= enough
    return reduction > max(basic, 1)


def fuse_reduction(sch: Schedule, block: BlockRV) -> tuple[int, LoopRV]:
    """Bring the reduction loops of a block inside of the others, as one loop.

    Returns:
        The number of other loops, and the loop of the reduction.
    """
    steps = mentioned(bound_values(realize_of(sch, block), reduction=True))
    loops = sch.get_loops(block)
    reduction = [loop for loop in loops if sch.get(loop).loop_var in steps]
    spatial = [loop for loop in loops if loop not in reduction]
    if [*spatial, *reduction] != loops:
        sch.reorder(*spatial, *reduction)
    return len(spatial), reduction[0] if len(reduction) == 1 else sch.fuse(*reduction)
