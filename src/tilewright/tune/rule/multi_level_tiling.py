"""Tiling for all levels of the memory of a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.expr import const_int_value
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.nest import block_of
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tune.rule.block_facts import (
    TILING_STRUCTURE,
    counted_iterators,
    extent_of,
    has_reuse,
    is_root,
)
from tilewright.tune.rule.reuse import ReuseType, add_read_reuse, add_write_reuse, as_reuse_type
from tilewright.tune.rule.schedule_rule import ScheduleRule, is_claimed
from tilewright.tune.rule.tile_sizes import TileSizes

LOW: Final = "meta_schedule.thread_extent_low_inclusive"
HIGH: Final = "meta_schedule.thread_extent_high_inclusive"
"""Annotations: how many threads a block of threads may have."""

UNLIMITED: Final = 1 << 30


@dataclass(eq=False)
class Tiling:
    """A sketch while it is being made.

    Attributes:
        sch: the schedule.
        block: the block that is tiled.
        tiles: the loops of each tile, the outermost tile first.
        read_caches: the blocks that copy what the block reads.
        write_cache: the block that copies its result, if there is one.
    """

    sch: Schedule
    block: BlockRV
    tiles: list[list[LoopRV]] = field(default_factory=list)
    read_caches: list[BlockRV] = field(default_factory=list)
    write_cache: BlockRV | None = None

    def copy(self) -> Tiling:
        """One that can be changed without changing this one."""
        return replace(
            self,
            sch=self.sch.copy(),
            tiles=list(self.tiles),
            read_caches=list(self.read_caches),
        )


class MultiLevelTiling(ScheduleRule):
    """Tiles blocks that use what they read several times, such as products of matrices.

    For the structure ``"SSRSRS"`` each spatial loop becomes four and each loop of a reduction two;
    all first spatial parts come first, then all second ones, then the first parts of the
    reduction, and so on. The block gets the annotation `meta_schedule.tiling_structure`.

    Args:
        structure: the order of the tiles: ``S`` spatial, ``R`` reduction.
        tile_binds: threads to which the first tiles are bound, such as ``"blockIdx.x"``.
        max_innermost_factor: the largest innermost tile; None for no limit.
        vector_load_lens: how many elements a thread may copy at once into the cache of a read, from
            which the search chooses.
        reuse_read: whether and where tiles of what is read are copied.
        reuse_write: whether and where tiles of the result are collected before they are written.
        filter_fn: takes the schedule and the block (as a `StmtSRef`) and says whether to tile it;
            by default those blocks are tiled that read elements for several results.
    """

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
        filter_fn: Callable[[Schedule, Any], bool] | None = None,
    ) -> None:
        if not structure or set(structure) - set("SR"):
            raise ArgumentValueError(
                f'{type(self).__name__}: a structure is of "S" and "R", got {structure!r}'
            )
        self.structure = structure
        self.tile_binds = list(tile_binds or ())
        self.max_innermost_factor = max_innermost_factor
        self.vector_load_lens = [int(length) for length in vector_load_lens or ()]
        self.reuse_read = as_reuse_type(reuse_read, len(structure))
        self.reuse_write = as_reuse_type(reuse_write, len(structure))
        self.filter_fn = filter_fn
        bound = structure[: len(self.tile_binds)]
        if len(self.tile_binds) > len(structure) or "R" in bound:
            raise ArgumentValueError(
                f"{type(self).__name__}: tile_binds are for the first tiles, which are spatial; "
                f"{structure!r} begins with {bound!r}"
            )

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """One sketch for each way to cache; `sch` where nothing is to be tiled."""
        if is_root(sch, block) or is_claimed(sch, block) or not self._is_wanted(sch, block):
            return [sch]
        found = [item.sch for item in self.sketches(Tiling(sch.copy(), block))]
        return found or [sch]

    def _is_wanted(self, sch: Schedule, block: BlockRV) -> bool:
        if self.filter_fn is not None and TILING_STRUCTURE not in block_of(sch, block).annotations:
            return bool(self.filter_fn(sch, sch.get_sref(block)))
        return has_reuse(sch, block)

    def sketches(self, tiling: Tiling) -> list[Tiling]:
        """The sketches that begin with a block that is not tiled yet."""
        try:
            self.tile(tiling)
        except ScheduleError:
            return []
        found = add_write_reuse(tiling, self.reuse_write)
        return [item for one in found for item in add_read_reuse(one, self)]

    # --- loops --------------------------------------------------------------------------------

    def tile(self, tiling: Tiling) -> None:
        """Split, reorder and bind the loops."""
        sch, block = tiling.sch, tiling.block
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        slots = {
            IterType.DATA_PAR: [n for n, kind in enumerate(self.structure) if kind == "S"],
            IterType.COMM_REDUCE: [n for n, kind in enumerate(self.structure) if kind == "R"],
        }
        outside: list[LoopRV] = []
        for loop, item in counted_iterators(sch, block):
            places = slots.get(item.iter_type) if item is not None else None
            if not places or item is None:
                outside.append(loop)
                continue
            parts = self.split(sch, block, loop, item, len(places))
            for place, part in zip(places, parts, strict=False):
                tiles[place].append(part)
        sch.annotate(block, TILING_STRUCTURE, self.structure)
        sch.reorder(*outside, *(loop for tile in tiles for loop in tile))
        for n, tag in enumerate(self.tile_binds):
            if tiles[n]:
                fused = sch.fuse(*tiles[n])
                sch.bind(fused, tag)
                tiles[n] = [fused]
        if self.tile_binds:
            self._limit_threads(tiling)
        tiling.tiles = tiles

    def split(
        self, sch: Schedule, block: BlockRV, loop: LoopRV, item: IterVar, parts: int
    ) -> list[LoopRV]:
        """Split a loop into `parts`, with sizes for the search to choose.

        Args:
            item: the iterator that it counts.
            parts: how many parts; a loop that has no constant extent stays the outermost one.
        """
        extent = const_int_value(sch.get(loop).extent)
        if parts == 1 or extent is None:
            return [loop]
        factors = sch.sample_perfect_tile(
            loop,
            n=parts,
            max_innermost_factor=self.max_innermost_factor or -1,
            decision=self._first_sizes(sch, block, item, extent, parts),
        )
        return sch.split(loop, factors)

    def _first_sizes(
        self, sch: Schedule, block: BlockRV, item: IterVar, extent: int, parts: int
    ) -> list[int]:
        """The sizes that the sketch itself has."""
        sizes = TileSizes(block_of(sch, block), self.target, self.max_innermost_factor or UNLIMITED)
        spatial = item.iter_type is IterType.DATA_PAR
        threads = self._thread_tile()
        if threads is None:
            if spatial:
                return sizes.spatial(item.var, extent, parts)
            return sizes.reduction(extent, parts)
        if spatial:
            return sizes.spatial_of_threads(item.var, extent, parts, threads)
        return sizes.reduction_of_threads(extent, parts)

    def _thread_tile(self) -> int | None:
        """Which of the spatial tiles the threads of a block compute."""
        found = [n for n, tag in enumerate(self.tile_binds) if tag.startswith("threadIdx")]
        return found[0] if found else None

    def _limit_threads(self, tiling: Tiling) -> None:
        device = accelerator_of(self.target)
        count = 1
        for item in block_of(tiling.sch, tiling.block).iter_vars:
            if item.iter_type is IterType.DATA_PAR:
                extent = extent_of(item)
                count *= extent or device.warp
        tiling.sch.annotate(tiling.block, LOW, device.warp if count > 2 * device.warp else 1)
        tiling.sch.annotate(tiling.block, HIGH, device.threads)


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Tiles blocks as `MultiLevelTiling` does, for machines with very long vectors.

    The innermost tile of the loop along which the elements of the result are side by side always
    fills a vector; where the extent is not a multiple of that, it is tiled like the others.

    Args:
        structure: as for `MultiLevelTiling`, like the other arguments.
        vector_length_in_bits: width of a vector.
    """

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(structure, None, max_innermost_factor, None, reuse_read, reuse_write)
        if vector_length_in_bits < 8:
            raise ArgumentValueError(
                "MultiLevelTilingWideVector: vector_length_in_bits is at least 8, got "
                f"{vector_length_in_bits}"
            )
        self.vector_length_in_bits = vector_length_in_bits

    def split(
        self, sch: Schedule, block: BlockRV, loop: LoopRV, item: IterVar, parts: int
    ) -> list[LoopRV]:
        """Split a loop; the innermost part of the one along the result is a vector."""
        extent = const_int_value(sch.get(loop).extent)
        lanes = self._lanes(block_of(sch, block), item)
        if parts == 1 or extent is None or lanes is None or extent % lanes:
            return super().split(sch, block, loop, item, parts)
        outer, vector = sch.split(loop, [None, lanes])
        if parts == 2:
            return [outer, vector]
        count = extent // lanes
        factors = sch.sample_perfect_tile(
            outer, n=parts - 1, max_innermost_factor=-1, decision=[count, *[1] * (parts - 2)]
        )
        return [*sch.split(outer, factors), vector]

    def _lanes(self, block: Any, item: IterVar) -> int | None:
        """Elements of a vector of the result; None for an iterator that is not along it."""
        if item.iter_type is not IterType.DATA_PAR:
            return None
        stores = accesses_of(block).stores
        if len(stores) != 1 or stores[0].stride(item.var) != 1:
            return None
        return max(1, self.vector_length_in_bits // stores[0].buffer.dtype.bits)
