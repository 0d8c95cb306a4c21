"""Tiles of which the innermost one is a whole vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tune.rule.block_facts import block_of, constant
from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling
from tilewright.tune.rule.reuse_type import ReuseType


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Tiles blocks as `MultiLevelTiling` does, for machines with very long vectors.

    The innermost tile of the loop along which the elements of the result are side by side always
    fills a vector; where the extent is not a multiple of that, it is tiled like the others.

    Args:
        structure: as for `MultiLevelTiling`, which also says what the other arguments mean.
        vector_length_in_bits: how long a vector is.
        max_innermost_factor: the largest innermost tile of the other loops.
        reuse_read: whether and where tiles of what is read are copied.
        reuse_write: whether and where tiles of the result are collected.
    """

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            structure,
            max_innermost_factor=max_innermost_factor,
            reuse_read=reuse_read,
            reuse_write=reuse_write,
        )
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
        extent = constant(sch.get(loop).extent)
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
