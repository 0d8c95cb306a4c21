"""Tiles of what a block reads or writes, in memory of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.nest import block_of
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tune.rule.block_facts import TILING_STRUCTURE, consumers_of, is_output, is_spatial
from tilewright.tune.rule.inline import copies_in_order
from tilewright.tune.rule.schedule_rule import CLAIMED

if TYPE_CHECKING:
    from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling, Tiling


REQUIREMENTS = ("no", "may", "must")


class ReuseType(NamedTuple):
    """Where tiles are cached.

    Attributes:
        req: ``"no"``: nowhere; ``"may"``: with and without are two sketches; ``"must"``: always.
        levels: in which tiles of the structure, counted from 1; one sketch each.
        scope: the memory of the cache.
    """

    req: str
    levels: tuple[int, ...] = ()
    scope: str = "global"

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return {"req": self.req, "levels": list(self.levels), "scope": self.scope}


NO_REUSE = ReuseType("no")


def as_reuse_type(value: Any, tiles: int) -> ReuseType:
    """A `ReuseType`, from one or from a dictionary.

    Args:
        value: what was given; None for no reuse.
        tiles: how many tiles there are.
    """
    if value is None:
        return NO_REUSE
    if isinstance(value, Mapping):
        unknown = set(value) - {"req", "levels", "scope"}
        if unknown:
            raise ArgumentError(f"a ReuseType has no {sorted(unknown)[0]!r}")
        value = ReuseType(value.get("req", "no"), value.get("levels", ()), value.get("scope", ""))
    if not isinstance(value, ReuseType):
        raise ArgumentError(f"expected a ReuseType or a dictionary, got {value!r}")
    require_one_of("ReuseType: req", value.req, REQUIREMENTS)
    levels = tuple(int(level) for level in value.levels)
    if value.req != "no" and (not levels or not all(1 <= level <= tiles for level in levels)):
        raise ArgumentValueError(
            f"ReuseType: levels are tiles from 1 to {tiles}, got {list(value.levels)}"
        )
    return ReuseType(value.req, levels, value.scope or "global")


COOPERATIVE_FETCH: Final = "meta_schedule.cooperative_fetch"
"""The annotation of a copy that all threads of a block share: how many elements one copies at once.
"""

MOST_BYTES: Final = 16
"""Maximum number of bytes that one thread loads at once."""


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
        copy: the block that copies.
        lengths: the numbers to choose from; those of more than a vector of bytes are left out.
    """
    dtype = block_of(sch, copy).writes[0].buffer.dtype
    most = max(MOST_BYTES, dtype.itemsize)
    fitting = [length for length in lengths if length * dtype.itemsize <= most]
    if fitting:
        sch.annotate(copy, COOPERATIVE_FETCH, choose(sch, fitting, max(fitting)))


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
