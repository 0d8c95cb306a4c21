"""Tiles of which the innermost one is a tensor intrinsic."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.tensor_intrin import TensorIntrin
from tilewright.tune.rule.block_facts import block_of, has_reuse, is_root
from tilewright.tune.rule.claim import is_claimed
from tilewright.tune.rule.intrinsic_tile import tile_for_intrinsic
from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling, Tiling
from tilewright.tune.rule.reuse_type import ReuseType

AUTO_TENSORIZE: Final = "meta_schedule.auto_tensorize"
"""The annotation of a block that a postprocessor replaces by the intrinsic of that name."""

AUTO_TENSORIZE_INIT: Final = "meta_schedule.auto_tensorize_init"
"""The same for its initialisation."""

logger = logging.getLogger(__name__)


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Tiles blocks as `MultiLevelTiling` does, around a tile that a tensor intrinsic computes.

    The tile becomes a block of its own with the annotation `meta_schedule.auto_tensorize`, which
    the postprocessor `RewriteTensorize` replaces. An operand in another layout than the intrinsic
    takes is first copied, tile by tile. Blocks that are not what the intrinsic describes are left
    to the rules that follow.

    Args:
        intrin_name: the name of the intrinsic, see `TensorIntrin`.
        structure: as for `MultiLevelTiling`, which also says what the other arguments mean.
        tile_binds: threads to which the first tiles are bound.
        max_innermost_factor: the largest innermost tile, in intrinsics.
        vector_load_lens: how many elements a thread may copy at once.
        reuse_read: whether and where tiles of what is read are copied.
        reuse_write: whether and where tiles of the result are collected.
        filter_fn: says which blocks to tile.

    Raises:
        UnknownNameError: when it is applied, if there is no such intrinsic.
    """

    def __init__(
        self,
        intrin_name: str,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
        filter_fn: Callable[[Schedule, Any], bool] | None = None,
    ) -> None:
        super().__init__(
            structure,
            tile_binds,
            max_innermost_factor,
            vector_load_lens,
            reuse_read,
            reuse_write,
            filter_fn,
        )
        if not isinstance(intrin_name, str):
            raise ArgumentError(
                f"MultiLevelTilingWithIntrin: intrin_name is a string, got {intrin_name!r}"
            )
        self.intrin_name = intrin_name

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """One sketch for each way to cache; `sch` where the intrinsic does not apply."""
        TensorIntrin.get(self.intrin_name)
        if is_root(sch, block) or is_claimed(sch, block) or not self._is_wanted(sch, block):
            return [sch]
        tiling = self._blockized(sch.copy(), block)
        if tiling is None:
            logger.debug(
                "%s: the block %s is not what the intrinsic %s describes",
                type(self).__name__,
                block_of(sch, block).name_hint,
                self.intrin_name,
            )
            return [sch]
        return [item.sch for item in self.sketches(tiling)] or [sch]

    def _is_wanted(self, sch: Schedule, block: BlockRV) -> bool:
        if self.filter_fn is not None:
            return MultiLevelTiling._is_wanted(self, sch, block)
        return AUTO_TENSORIZE not in block_of(sch, block).annotations and has_reuse(sch, block)

    def _blockized(self, sch: Schedule, block: BlockRV) -> Tiling | None:
        """The tile of the intrinsic as a block; None if there is no such tile."""
        try:
            tile = tile_for_intrinsic(sch, block, self.intrin_name, packs=True)
            if tile is None:
                return None
            outer = sch.blockize(tile[0])
        except ScheduleError:
            return None
        sch.annotate(outer, AUTO_TENSORIZE, self.intrin_name)
        return Tiling(sch, outer)
