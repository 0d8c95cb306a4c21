"""Reading a buffer through a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.schedule.buffer_reference import (
    buffer_read,
    known_storage_scope,
    recorded_index,
)
from tilewright.tir.schedule.edits.caches import cache_of, copy_nest, redirect_blocks
from tilewright.tir.schedule.edits.insertion import InsertionPoint, place_before
from tilewright.tir.schedule.edits.stage import (
    blocks_given,
    require_in_blocks,
    require_no_view,
    require_not_root,
    stores_outside_of_blocks,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import read_before_copied
from tilewright.tir.schedule.proofs.coverage import accessed_box
from tilewright.tir.schedule.proofs.images import Image, box_of, box_of_ranges
from tilewright.tir.schedule.proofs.regions import (
    accesses,
    clipped,
    covers,
    hull,
    region_of_block,
)
from tilewright.tir.schedule.proofs.scope import Scope, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import BlockRealize, For


@primitive
def cache_read(
    tree: FunctionTree,
    block: BlockRealize,
    read_buffer_index: Any,
    storage_scope: str,
    consumer_blocks: list[BlockRealize] | None = None,
) -> Edit:
    """Let blocks read a buffer through a copy of it.

    A new block copies what they read, before the first of them and after the blocks that write the
    buffer.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    After ``cache_read("B", 0, "local")``::

        A_local = T.alloc_buffer((16, 32), scope="local")
        for ax0, ax1 in T.grid(16, 32):
            with T.block("A_local"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                A_local[v0, v1] = A[v0, v1]
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_local[vi, vj] * 2.0

    The copy goes after everything that writes the buffer, including stores outside of blocks.

    Requires: nothing writes the buffer between the copy and the blocks that read it.

    Args:
        block: a block that reads the buffer.
        read_buffer_index: the position of the buffer in what the block reads, or its name.
        storage_scope: where the copy lives.
        consumer_blocks: the blocks that read the copy; by default all that read the buffer in the
            scope of `block`.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a block that is to read the copy also writes the buffer, if another one
            writes it in between, or for a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(matmul)
        sch.cache_read("C", "A", "local")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_not_root(tree, block)
    given = buffer_read(block, read_buffer_index)
    buffer = given.buffer
    scope = scope_of(tree, block)
    if tree.checked:
        require_no_view(tree, scope, buffer)
    writers = scope.writers.get(buffer, [])
    if consumer_blocks:
        readers = blocks_given(tree, scope, consumer_blocks, buffer)
    else:
        readers = [reader for reader in scope.readers[buffer] if reader not in set(writers)]
    for updating in readers if consumer_blocks else [block]:
        if updating in set(writers):
            raise ScheduleError(
                f"{{0}} also writes `{buffer.name}`, whose copy would not change",
                at=[updating],
                hint="cache_inplace caches a buffer that a block reads and writes",
            )
    stores = stores_outside_of_blocks(tree, scope, buffer)
    place = place_before(tree, scope.realize, readers, [*writers, *stores])
    if place.late and stores and tree.checked:
        require_in_blocks(scope, buffer, only_writes=True)
    region = _region(tree, scope, buffer, place, readers, writers)
    cache = cache_of(buffer, storage_scope)
    edits = redirect_blocks(readers, buffer, cache)
    nest, copy = copy_nest(cache.name, buffer, cache, region)
    edit = with_stage(
        tree, scope.realize, edits=edits, place=place.stmt, before=[nest], buffers=[cache],
        results=copy,
    )  # fmt: skip
    return edit._replace(recorded=recorded_index("read_buffer_index", block, given))


def _region(
    tree: FunctionTree,
    scope: Scope,
    buffer: Buffer,
    place: InsertionPoint,
    readers: Sequence[BlockRealize],
    writers: Sequence[BlockRealize],
) -> tuple[Range, ...]:
    """What is copied: all that is read; for readers that run later, also all that is written."""
    later = {late.realize for late in place.late}
    read = accesses([r for r in readers if r not in later], buffer, written=False)
    if later:
        inside = [writer for writer in writers if tree.is_above(place.around, writer)]
        read += accesses(inside, buffer, written=True)
    analyzer = tree.analyzer_inside(place.around)
    box = hull([accessed_box(tree, access, place.around, analyzer) for access in read], analyzer)
    region = clipped(buffer, box, analyzer)
    region = _inside_of(scope.realize, buffer, region, analyzer)
    if later and tree.checked:
        _require_later_reads(tree, buffer, place, region)
    return region


def _inside_of(
    scope: BlockRealize, buffer: Buffer, region: tuple[Range, ...], analyzer: Analyzer
) -> tuple[Range, ...]:
    """`region`, or what the block around says that it reads, if `region` may be more than that."""
    declared = region_of_block(scope.block, buffer, written=False)
    if declared is None:
        return region
    ends = [(a.min, a.min + a.extent) for a in declared.region]
    inside = all(
        analyzer.can_prove(item.min >= low) and analyzer.can_prove(item.min + item.extent <= high)
        for item, (low, high) in zip(region, ends, strict=True)
    )
    return region if inside else clipped(buffer, box_of_ranges(declared.region), analyzer)


def _require_later_reads(
    tree: FunctionTree, buffer: Buffer, place: InsertionPoint, region: tuple[Range, ...]
) -> None:
    """Refuse readers behind a loop around the copy unless its iterations copy all that they read.

    Each iteration copies all that it writes, so what was copied once stays right.
    """
    for late in place.late:
        inside = tree.between(late.around, place.stmt)
        loops = [stmt for stmt in inside if isinstance(stmt, For)]
        plain = place.conditional is None and all(loop.kind.is_in_order for loop in loops)
        analyzer = tree.analyzer_inside(late.around)
        image = Image(
            region, {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in loops}
        )
        copied = box_of(image, analyzer) if plain else None
        for loop in loops:
            bind_scope(analyzer, loop)
        for access in accesses([late.realize], buffer, written=False):
            read = clipped(buffer, accessed_box(tree, access, late.around, analyzer), analyzer)
            if copied is None or not covers(buffer, copied, box_of_ranges(read), analyzer):
                raise ScheduleError(
                    f"it is not proved that the copies in front of {{0}} contain all that {{1}} "
                    f"reads of `{buffer.name}`",
                    at=[place.stmt, late.realize],
                    afterwards=read_before_copied,
                    hint="name the blocks that shall read the copy by consumer_blocks",
                )
