"""Tiles of what a block reads, copied into memory of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tilewright.ir.dtype import DType
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tune.rule.block_facts import block_of

if TYPE_CHECKING:
    from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling, Tiling

COOPERATIVE_FETCH: Final = "meta_schedule.cooperative_fetch"
"""The annotation of a copy that all threads of a block share: how many elements one copies at once.
"""

MOST_BYTES: Final = 16
"""What one thread loads at once at the most."""


def add_read_reuse(tiling: Tiling, rule: MultiLevelTiling) -> list[Tiling]:
    """The ways to read the operands of a tiled block: one for each level of the rule."""
    reuse = rule.reuse_read
    if reuse.req == "no":
        return [tiling]
    found = [tiling] if reuse.req == "may" else []
    for level in reuse.levels:
        cached = tiling.copy()
        try:
            _cache_operands(cached, level, reuse.scope, rule.vector_load_lens)
        except ScheduleError:
            continue
        found.append(cached)
    return found


def _cache_operands(tiling: Tiling, level: int, scope: str, lengths: Sequence[int]) -> None:
    sch, block = tiling.sch, tiling.block
    found = block_of(sch, block)
    written = {region.buffer for region in found.writes}
    place = next(tile for tile in reversed(tiling.tiles[:level]) if tile)[-1]
    for n, region in enumerate(found.reads):
        if region.buffer in written:
            continue
        rank = len(region.buffer.shape)
        copy = sch.cache_read(block, n, scope, [block])
        sch.compute_at(copy, place, preserve_unit_loops=True)
        loops = sch.get_loops(copy)[-rank:] if rank else []
        if loops:
            sch.fuse(*loops)
        annotate_cooperative_fetch(sch, copy, lengths)
        tiling.read_caches.append(copy)


def annotate_cooperative_fetch(sch: Schedule, copy: BlockRV, lengths: Sequence[int]) -> None:
    """Let the search choose how many elements a thread copies at once.

    Args:
        sch: the schedule.
        copy: the block that copies.
        lengths: the numbers to choose from; those of more than a vector of bytes are left out.
    """
    dtype = block_of(sch, copy).writes[0].buffer.dtype
    fitting = [length for length in lengths if length * dtype.itemsize <= most_bytes(dtype)]
    if fitting:
        probs = [1.0 / len(fitting)] * len(fitting)
        first = max(range(len(fitting)), key=fitting.__getitem__)
        length = sch.sample_categorical(fitting, probs=probs, decision=first)
        sch.annotate(copy, COOPERATIVE_FETCH, length)


def most_bytes(dtype: DType) -> int:
    """How many bytes of elements of that kind one thread loads at once."""
    return max(MOST_BYTES, dtype.itemsize)
