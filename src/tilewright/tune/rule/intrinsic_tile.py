"""Which loops of a block make the tile that a tensor intrinsic computes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.tir.expr import IterType
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tir.stmt import BlockRealize, For, Stmt
from tilewright.tir.tensor_intrin import TensorIntrin, intrinsic_block, intrinsic_buffers
from tilewright.tir.transform.affine import affine, split
from tilewright.tune.rule.block_facts import block_of, constant, loops_around, realize_of


class TileLoop(NamedTuple):
    """One loop of the description of an intrinsic."""

    extent: int
    iter_type: IterType


def tile_for_intrinsic(sch: Schedule, block: BlockRV, name: str) -> list[LoopRV] | None:
    """Split and reorder loops so that the innermost ones are those of an intrinsic.

    Of the ways to choose loops the first is taken after which `Schedule.tensorize` applies.

    Args:
        sch: the schedule, which is changed if there is a way.
        block: the block.
        name: the intrinsic.

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
    for choice in _choices(sch, block, described):
        tried = sch.copy()
        try:
            tried.tensorize(_split(tried, block, choice, described)[0], name)
        except ScheduleError:
            continue
        return _split(sch, block, choice, described)
    return None


def _loops_of(intrinsic: TensorIntrin) -> list[TileLoop] | None:
    """The loops around the only block of a description; None if it is not of that form."""
    loops: dict[object, int] = {}
    stmt: Stmt = intrinsic_block(intrinsic.desc).body
    while isinstance(stmt, For):
        extent = constant(stmt.extent)
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
    counted = [(loop, _type_counted(sch, block, loop)) for loop in loops_around(sch, block)]
    candidates = []
    for wanted in described:
        fitting = []
        for n, (loop, kind) in enumerate(counted):
            extent = constant(loop.extent)
            if kind is wanted.iter_type and extent is not None and extent % wanted.extent == 0:
                fitting.append(n)
        candidates.append(fitting[::-1])
    for choice in itertools.product(*candidates):
        if len(set(choice)) == len(choice):
            yield choice


def _type_counted(sch: Schedule, block: BlockRV, loop: For) -> IterType | None:
    """The type of the iterator of which a loop counts the lowest digit."""
    realize = realize_of(sch, block)
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        parts = split(affine(value), loop.loop_var)
        if parts is not None and parts[0].is_constant() and parts[0].constant == 1:
            return item.iter_type
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
