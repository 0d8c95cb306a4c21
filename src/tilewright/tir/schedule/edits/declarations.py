"""Declared regions of the blocks around what a primitive changes.

A primitive may add a block to another one, such as a copy of a part of a buffer, or change what a
nested block declares. The blocks around it declare at least what that block declares.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.arith import Analyzer
from tilewright.arith.interval import IntervalSet
from tilewright.ir.expr import is_const_int
from tilewright.tir.analysis.declared_regions import ALLOCATIONS, HIDES_ACCESSES, pointer_of
from tilewright.tir.buffer import Buffer, BufferRegion
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.proofs.regions import BlockAccess, Box, clipped, covers, hull, relaxed
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize


def with_nested_accesses(before: FunctionTree, after: FunctionTree) -> FunctionTree:
    """The new version of a function whose blocks declare what their nested blocks do.

    Args:
        before: the version before a step, the blocks of which declare what they access.
        after: the version after it.
    """
    changed = [
        realize.block.key
        for realize in after.outer_blocks_changed_since(before)
        if realize.block.key is not None
    ]
    for key in reversed(changed):  # what is inside of a block is before it
        outer = after.block(key)
        assert outer is not None
        if HIDES_ACCESSES in outer.block.annotations:
            continue
        block = _widened(after, outer, _new_declarations(before, after, outer))
        if block is not outer.block:
            func = after.edit({outer.block: block}).func
            after = FunctionTree(after.name, func, after.checked, before)
    return after


def _new_declarations(
    before: FunctionTree, after: FunctionTree, outer: BlockRealize
) -> list[BlockRealize]:
    """The blocks in `outer` that are new or declare something else than before."""
    found: list[BlockRealize] = []
    for realize in after.blocks_below(outer):
        known = before.block(realize.block.key) if realize.block.key is not None else None
        if (
            known is None
            or known.block.reads is not realize.block.reads
            or known.block.writes is not realize.block.writes
        ):
            found.append(realize)
    return found


def _widened(tree: FunctionTree, outer: BlockRealize, inner: list[BlockRealize]) -> Block:
    """The block of `outer`, which declares what the blocks `inner` in it do."""
    block = outer.block
    if not inner:
        return block
    analyzer = tree.analyzer_inside(outer)
    private = {buffer.data for buffer in block.alloc_buffers}
    for realize in inner:
        for stmt in tree.between(outer, realize):
            if stmt.__class__ in ALLOCATIONS:
                private.add(pointer_of(stmt))
    views = {match.buffer for match in block.match_buffers}
    is_update = block.init is not None or any(
        item.iter_type is IterType.COMM_REDUCE for item in block.iter_vars
    )

    def wider(declared: tuple[BufferRegion, ...], is_write: bool) -> tuple[BufferRegion, ...]:
        also = block.writes if is_update and not is_write else ()
        for realize in inner:
            for region in realize.block.writes if is_write else realize.block.reads:
                if region.buffer.data not in private and region.buffer not in views:
                    box = relaxed(tree, BlockAccess(realize, region), outer, analyzer.copy())
                    declared = _merged(declared, also, region.buffer, box, analyzer)
        return declared

    reads, writes = wider(block.reads, False), wider(block.writes, True)
    if reads is block.reads and writes is block.writes:
        return block
    return block.replace(reads=reads, writes=writes)


def _merged(
    declared: tuple[BufferRegion, ...],
    also: Iterable[BufferRegion],
    buffer: Buffer,
    box: Box,
    analyzer: Analyzer,
) -> tuple[BufferRegion, ...]:
    """`declared`, wider where neither it nor `also` has all that is accessed of a buffer."""
    needed = BufferRegion(buffer, clipped(buffer, box, analyzer))
    accessed = _box(needed)
    if any(
        region.buffer is buffer and covers(buffer, _box(region), accessed, analyzer)
        for region in (*declared, *also)
    ):
        return declared
    for position, region in enumerate(declared):
        if region.buffer is buffer:
            ranges = clipped(buffer, hull([_box(region), accessed], analyzer), analyzer)
            wider = BufferRegion(buffer, ranges)
            return (*declared[:position], wider, *declared[position + 1 :])
    if any(region.buffer.data is buffer.data for region in declared):
        return declared  # through another buffer on the same memory
    return (*declared, needed)


def _box(region: BufferRegion) -> Box:
    return tuple(
        IntervalSet(r.min, r.min if is_const_int(r.extent, 1) else r.min + r.extent - 1)
        for r in region.region
    )
