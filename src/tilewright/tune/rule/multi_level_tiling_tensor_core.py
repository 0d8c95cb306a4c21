"""Tiles that units for products of small matrices compute, such as tensor cores."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.schedule_rules.nest import block_of
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tir.tensor_intrin import TensorIntrin, intrinsic_block, intrinsic_buffers
from tilewright.tune.rule.block_facts import has_reuse, is_root
from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling, Tiling
from tilewright.tune.rule.multi_level_tiling_with_intrin import (
    AUTO_TENSORIZE,
    AUTO_TENSORIZE_INIT,
    tile_for_intrinsic,
)
from tilewright.tune.rule.reuse import ReuseType, annotate_cooperative_fetch
from tilewright.tune.rule.schedule_rule import is_claimed

WARP_EXECUTION: Final = "warp_execution"
"""The annotation of a block that all threads of a warp execute together."""

logger = logging.getLogger(__name__)


class IntrinGroup(NamedTuple):
    """The names of the intrinsics of one unit.

    Attributes:
        init: sets a tile of results to zero.
        load_a: loads a tile of the first operand.
        load_b: loads a tile of the second one.
        compute: adds the product of two tiles to a tile of results.
        store: stores a tile of results.
    """

    init: str
    load_a: str
    load_b: str
    compute: str
    store: str

    def missing(self) -> list[str]:
        """Those that nobody has registered."""
        return [name for name in self if TensorIntrin.get(name, allow_missing=True) is None]


class MultiLevelTilingTensorCore(MultiLevelTiling):
    """Tiles products as `MultiLevelTiling` does, around tiles that a tensor core computes.

    The operands of a tile are copied into the memory of the unit by intrinsics that load, and its
    result out of it by one that stores. All of them are blocks with the annotation
    `meta_schedule.auto_tensorize`, which the postprocessor `RewriteTensorize` replaces. A group of
    which an intrinsic is not registered makes no sketch, and a warning says which one is missing;
    blocks that no group fits are left to the rules that follow.

    Args:
        intrin_groups: names of intrinsics, one dictionary for each kind of unit, with the keys
            ``"init"``, ``"load_a"``, ``"load_b"``, ``"compute"`` and ``"store"``.
        structure: as for `MultiLevelTiling`, like `vector_load_lens`.
        tile_binds: threads to which the first tiles are bound; the threads of a warp execute an
            intrinsic together, so ``threadIdx.x`` is not among them.
        max_innermost_factor: the largest innermost tile, in tiles of the unit.
        reuse_read: where the operands are copied before the unit loads them.
        reuse_write: where the results are collected after the unit stores them.
        use_software_pipeline: not supported.
    """

    def __init__(
        self,
        intrin_groups: Mapping[str, str] | Sequence[Mapping[str, str]],
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
        use_software_pipeline: bool = False,
    ) -> None:
        super().__init__(
            structure, tile_binds, max_innermost_factor, vector_load_lens, reuse_read, reuse_write
        )
        if use_software_pipeline:
            raise ArgumentValueError(
                "MultiLevelTilingTensorCore: software pipelines are not supported"
            )
        groups = [intrin_groups] if isinstance(intrin_groups, Mapping) else list(intrin_groups)
        self.intrin_groups = [_as_group(group) for group in groups]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """One sketch for each group that fits; `sch` where none does."""
        if is_root(sch, block) or is_claimed(sch, block) or not has_reuse(sch, block):
            return [sch]
        found = []
        for group in self.intrin_groups:
            missing = group.missing()
            if missing:
                logger.warning(
                    "MultiLevelTilingTensorCore: no sketches with %s, as there is no tensor "
                    "intrinsic %s; register it by TensorIntrin.register",
                    group.compute,
                    ", ".join(missing),
                )
                continue
            sketch = self._sketch(sch, block, group)
            if sketch is not None:
                found.append(sketch)
        return found or [sch]

    def _sketch(self, sch: Schedule, block: BlockRV, group: IntrinGroup) -> Schedule | None:
        """The sketch with the operands in the order in which the intrinsic takes them."""
        for order in ((0, 1), (1, 0)):
            sketch = sch.copy()
            try:
                self._build(sketch, block, group, order)
            except ScheduleError:
                continue
            return sketch
        return None

    def _build(
        self, sch: Schedule, block: BlockRV, group: IntrinGroup, order: tuple[int, int]
    ) -> None:
        """Make the sketch.

        Raises:
            ScheduleError: if the group does not fit.
        """
        inputs, result = _described(group.compute)
        operands = _operands(sch, block)
        if len(inputs) != 2 or len(operands) != 2:
            raise ScheduleError("no product of two operands")
        store = sch.cache_write(block, 0, result.scope())
        loads = [
            sch.cache_read(block, operands[n].name, buffer.scope(), [block])
            for n, buffer in zip(order, inputs, strict=True)
        ]
        unit = _tile(sch, block, group.compute)
        sch.annotate(unit, AUTO_TENSORIZE_INIT, group.init)
        sch.annotate(unit, WARP_EXECUTION, 1)
        tiling = Tiling(sch, unit)
        self.tile(tiling)
        self._place_store(tiling, store, group.store)
        for load, name in zip(loads, (group.load_a, group.load_b), strict=True):
            self._place_load(tiling, load, name)

    def _place_store(self, tiling: Tiling, store: BlockRV, name: str) -> None:
        """Store the results of the tiles of a thread; then copy them out together."""
        sch = tiling.sch
        first = self.structure.index("R") if "R" in self.structure else len(self.structure)
        place = _last_loop(tiling, first)
        copy = None
        if self.reuse_write.req != "no":
            copy = sch.cache_write(store, 0, self.reuse_write.scope)
        sch.reverse_compute_at(store, place, preserve_unit_loops=True)
        if copy is not None:
            level = self.reuse_write.levels[0]
            outer = _last_loop(tiling, level)
            sch.reverse_compute_at(copy, outer, preserve_unit_loops=True)
            self._share(sch, copy)
        _tile(sch, store, name)

    def _place_load(self, tiling: Tiling, load: BlockRV, name: str) -> None:
        """Load the tiles of an operand before each step; before that, fetch them together."""
        sch = tiling.sch
        copy = None
        if self.reuse_read.req != "no":
            copy = sch.cache_read(load, 0, self.reuse_read.scope, [load])
        last = len(self.structure.rstrip("S"))
        sch.compute_at(load, _last_loop(tiling, last), preserve_unit_loops=True)
        if copy is not None:
            level = self.reuse_read.levels[0]
            sch.compute_at(copy, _last_loop(tiling, level), preserve_unit_loops=True)
            _pad_rows(sch, copy)
            self._share(sch, copy)
        _tile(sch, load, name)

    def _share(self, sch: Schedule, copy: BlockRV) -> None:
        """Let the threads of a block copy together."""
        rank = len(block_of(sch, copy).writes[0].buffer.shape)
        if rank:
            sch.fuse(*sch.get_loops(copy)[-rank:])
        annotate_cooperative_fetch(sch, copy, self.vector_load_lens)

    def _limit_threads(self, tiling: Tiling) -> None:
        """Nothing: a warp runs each tile, and how many there are is for the postprocessors."""


def _pad_rows(sch: Schedule, copy: BlockRV) -> None:
    """Let neighbouring rows begin in different banks: an odd number of 16 bytes apart."""
    buffer = block_of(sch, copy).writes[0].buffer
    elements = 128 // buffer.dtype.bits
    if len(buffer.shape) > 1:
        sch.storage_align(copy, 0, len(buffer.shape) - 2, 2 * elements, elements)


def _as_group(group: Mapping[str, str]) -> IntrinGroup:
    if not isinstance(group, Mapping) or set(group) != set(IntrinGroup._fields):
        raise ArgumentError(
            "MultiLevelTilingTensorCore: a group of intrinsics is a dictionary with the keys "
            f"{', '.join(IntrinGroup._fields)}; got {group!r}"
        )
    return IntrinGroup(**group)


def _described(name: str) -> tuple[list[Buffer], Buffer]:
    """What the intrinsic reads only, and what it writes."""
    intrinsic = TensorIntrin.get(name)
    assert intrinsic is not None
    written = {region.buffer for region in intrinsic_block(intrinsic.desc).writes}
    buffers = intrinsic_buffers(intrinsic.desc)
    results = [buffer for buffer in buffers if buffer in written]
    if len(results) != 1:
        raise ScheduleError(f"the intrinsic {name!r} does not write one buffer")
    return [buffer for buffer in buffers if buffer not in written], results[0]


def _operands(sch: Schedule, block: BlockRV) -> list[Buffer]:
    """The buffers that a block reads and does not write."""
    found = block_of(sch, block)
    written = {region.buffer for region in found.writes}
    buffers = dict.fromkeys(region.buffer for region in found.reads)
    return [buffer for buffer in buffers if buffer not in written]


def _tile(sch: Schedule, block: BlockRV, name: str) -> BlockRV:
    """The innermost tile of a block as a block that the intrinsic will replace."""
    tile = tile_for_intrinsic(sch, block, name)
    if tile is None:
        raise ScheduleError(f"there are no loops for the intrinsic {name!r}")
    unit = sch.blockize(tile[0])
    sch.annotate(unit, AUTO_TENSORIZE, name)
    return unit


def _last_loop(tiling: Tiling, level: int) -> LoopRV:
    """The innermost loop of the first `level` tiles."""
    return next(tile[-1] for tile in reversed(tiling.tiles[:level]) if tile)
