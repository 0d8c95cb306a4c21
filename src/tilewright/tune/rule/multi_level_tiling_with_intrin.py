"""Tiling for tensor intrinsics."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentError
from tilewright.ir.expr import Var, const_int_value
from tilewright.schedule_rules.accesses import StridedAccess, accesses_of
from tilewright.schedule_rules.nest import block_of, realize_of
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tir.stmt import BlockRealize, For, Stmt
from tilewright.tir.tensor_intrin import TensorIntrin, intrinsic_block, intrinsic_buffers
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tune.rule.block_facts import has_reuse, is_root, loops_around
from tilewright.tune.rule.multi_level_tiling import MultiLevelTiling, Tiling
from tilewright.tune.rule.reuse import ReuseType
from tilewright.tune.rule.schedule_rule import is_claimed


class TileLoop(NamedTuple):
    """One loop of the description of an intrinsic."""

    extent: int
    iter_type: IterType


def tile_for_intrinsic(
    sch: Schedule, block: BlockRV, name: str, *, packs: bool = False
) -> list[LoopRV] | None:
    """Split and reorder loops so that the innermost ones are those of an intrinsic.

    Of the ways to choose loops the first is taken after which `Schedule.tensorize` applies.

    Args:
        sch: the schedule, which is changed if there is a way.
        name: the intrinsic.
        packs: whether operands may be copied, tile by tile, where the intrinsic does not apply to
            their layout.

    Returns:
        The loops of the tile, the outermost first; None if there is no way.

    Raises:
        UnknownNameError: if there is no such intrinsic.
    """
    intrinsic = TensorIntrin.get(name)
    assert intrinsic is not None
    described = _loops_of(intrinsic)
    if described is None or not _has_buffers_of(sch, block, intrinsic):
        return None
    choices = list(_choices(sch, block, described))
    for packed in (False, True) if packs else (False,):
        for choice in choices:
            tried = sch.copy()
            try:
                tried.tensorize(_tile(tried, block, choice, described, packed)[0], name)
            except ScheduleError:
                continue
            return _tile(sch, block, choice, described, packed)
    return None


def _tile(
    sch: Schedule,
    block: BlockRV,
    choice: Sequence[int],
    described: Sequence[TileLoop],
    packed: bool,
) -> list[LoopRV]:
    """The loops of the tile, after the operands are packed if that is wanted."""
    if packed:
        loops = loops_around(sch, block)
        sizes: dict[Var, int] = {}
        for position, wanted in zip(choice, described, strict=True):
            item = _counted(sch, block, loops[position])
            assert item is not None
            sizes[item.var] = wanted.extent
        _pack(sch, block, sizes)
    return _split(sch, block, choice, described)


def _pack(sch: Schedule, block: BlockRV, sizes: Mapping[Var, int]) -> None:
    """Copy the operands that have several dimensions in a tile, each tile side by side."""
    found = block_of(sch, block)
    iterators = [item.var for item in found.iter_vars]
    for load in accesses_of(found).loads:
        inner = [var for var in sizes if load.mentions(var)]
        if len(inner) < 2:
            continue
        sch.reindex_cache_read(
            block, load.buffer.name, "global", _layout(iterators, load, sizes, inner)
        )


def _layout(
    iterators: Sequence[Var], load: StridedAccess, sizes: Mapping[Var, int], inner: Sequence[Var]
) -> Callable[..., tuple[Any, ...]]:
    """From the iterators of a block to the place of what it loads: the tile, and where in it."""

    def layout(*values: Any) -> tuple[Any, ...]:
        at = dict(zip(iterators, values, strict=True))
        outer = [at[var] // sizes.get(var, 1) for var in iterators if load.mentions(var)]
        return (*outer, *(at[var] % sizes[var] for var in inner))

    return layout


def _loops_of(intrinsic: TensorIntrin) -> list[TileLoop] | None:
    """The loops around the only block of a description; None if it is not of that form."""
    loops: dict[object, int] = {}
    stmt: Stmt = intrinsic_block(intrinsic.desc).body
    while isinstance(stmt, For):
        extent = const_int_value(stmt.extent)
        if extent is None:
            return None
        loops[stmt.loop_var] = extent
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize):
        return None
    kinds = {
        value: item.iter_type
        for item, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
    }
    if loops.keys() - kinds.keys():
        return None
    return [TileLoop(extent, kinds[var]) for var, extent in loops.items()]  # type: ignore[index]


def _has_buffers_of(sch: Schedule, block: BlockRV, intrinsic: TensorIntrin) -> bool:
    """Whether the block accesses elements of the dtypes that the intrinsic does."""
    found = block_of(sch, block)
    own = {region.buffer: region.buffer.dtype for region in (*found.reads, *found.writes)}
    described = [buffer.dtype for buffer in intrinsic_buffers(intrinsic.desc)]
    return sorted(map(str, own.values())) == sorted(map(str, described))


def _choices(
    sch: Schedule, block: BlockRV, described: Sequence[TileLoop]
) -> Iterator[tuple[int, ...]]:
    """Positions of loops, one for each loop of the description; the innermost ones first."""
    counted = [(loop, _counted(sch, block, loop)) for loop in loops_around(sch, block)]
    candidates = []
    for wanted in described:
        fitting = []
        for n, (loop, item) in enumerate(counted):
            extent = const_int_value(loop.extent)
            if item is None or item.iter_type is not wanted.iter_type or extent is None:
                continue
            if extent % wanted.extent == 0:
                fitting.append(n)
        candidates.append(fitting[::-1])
    for choice in itertools.product(*candidates):
        if len(set(choice)) == len(choice):
            yield choice


def _counted(sch: Schedule, block: BlockRV, loop: For) -> IterVar | None:
    """The iterator whose lowest digit a loop counts."""
    realize = realize_of(sch, block)
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if stride_along(affine(value), loop.loop_var) == 1:
            return item
    return None


def _split(
    sch: Schedule, block: BlockRV, choice: Sequence[int], described: Sequence[TileLoop]
) -> list[LoopRV]:
    """The loops of the tile, after all others."""
    loops = sch.get_loops(block)
    inner: list[LoopRV] = []
    for position, wanted in zip(choice, described, strict=True):
        loops[position], part = sch.split(loops[position], [None, wanted.extent])
        inner.append(part)
    sch.reorder(*loops[min(choice) :], *inner)
    return inner


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
        structure: as for `MultiLevelTiling`, like the other arguments.
        max_innermost_factor: the largest innermost tile, in intrinsics.

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
            structure, tile_binds, max_innermost_factor, vector_load_lens, reuse_read, reuse_write,
            filter_fn,
        )  # fmt: skip
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
