"""Tiles of the result, collected in memory of their own before they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.tir.schedule import BlockRV, ScheduleError
from tilewright.tune.rule.access_pattern import copies_in_order
from tilewright.tune.rule.block_facts import (
    TILING_STRUCTURE,
    consumers_of,
    is_output,
    is_spatial,
)
from tilewright.tune.rule.claim import CLAIMED
from tilewright.tune.rule.reuse_type import ReuseType

if TYPE_CHECKING:
    from tilewright.tune.rule.multi_level_tiling import Tiling


def add_write_reuse(tiling: Tiling, reuse: ReuseType) -> list[Tiling]:
    """The ways to write the result of a tiled block.

    A consumer that computes each element from the same one of the result, such as a `relu`, takes
    the place of a copy.
    """
    if reuse.req == "no":
        return [tiling]
    if reuse.req == "may":
        consumer = _elementwise_consumer(tiling)
        if consumer is not None:
            return [*_at_levels(tiling, consumer, reuse), tiling]
    cached = tiling.copy()
    found = [tiling] if reuse.req == "may" else []
    try:
        cache = cached.sch.cache_write(cached.block, 0, reuse.scope)
    except ScheduleError:
        return found
    return [*found, *_at_levels(cached, cache, reuse)]


def _at_levels(tiling: Tiling, consumer: BlockRV, reuse: ReuseType) -> list[Tiling]:
    """One sketch for each level, in which the consumer runs after that tile."""
    found = []
    for level in reuse.levels:
        tile = next((t for t in reversed(tiling.tiles[:level]) if t), None)
        if tile is None:
            continue
        moved = tiling.copy()
        try:
            moved.sch.reverse_compute_at(consumer, tile[-1], preserve_unit_loops=True)
        except ScheduleError:
            continue
        moved.write_cache = consumer
        found.append(moved)
    return found


def _elementwise_consumer(tiling: Tiling) -> BlockRV | None:
    """The only consumer, if it computes each element from one of the result."""
    sch = tiling.sch
    if is_output(sch, tiling.block):
        return None
    found = consumers_of(sch, tiling.block)
    if len(found) != 1 or not is_spatial(found[0].block) or not copies_in_order(found[0].block):
        return None
    if {CLAIMED, TILING_STRUCTURE} & found[0].block.annotations.keys():
        return None
    return sch.get_consumers(tiling.block)[0]
