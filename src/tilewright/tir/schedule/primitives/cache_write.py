"""Caches for a buffer that a block writes or updates."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.schedule.buffer_reference import (
    buffer_read,
    buffer_written,
    known_storage_scope,
    recorded_index,
)
from tilewright.tir.schedule.edits.caches import cache_of, copy_nest, redirect_blocks
from tilewright.tir.schedule.edits.insertion import InsertionPoint, place_after, place_before
from tilewright.tir.schedule.edits.stage import (
    blocks_given,
    reads_values_of_others,
    require_in_blocks,
    require_no_view,
    require_not_root,
    require_own_init,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict, unwritten_read
from tilewright.tir.schedule.proofs.coverage import accessed_box, region_written, writes_all
from tilewright.tir.schedule.proofs.images import box_of_ranges
from tilewright.tir.schedule.proofs.legality import carried_afterwards
from tilewright.tir.schedule.proofs.regions import accesses, clipped, hull
from tilewright.tir.schedule.proofs.scope import Scope, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


def region_updated(
    tree: FunctionTree, block: BlockRealize, buffer: Buffer, place: InsertionPoint
) -> tuple[Range, ...]:
    """All that the block reads or writes in one iteration of the loops around the copies.

    Raises:
        ScheduleError: if copying it back may undo what another iteration writes at the same time.
    """
    analyzer = tree.analyzer_inside(place.around)
    both = [
        *accesses([block], buffer, written=False),
        *accesses([block], buffer, written=True),
    ]
    boxes = [accessed_box(tree, access, place.around, analyzer) for access in both]
    region = clipped(buffer, hull(boxes, analyzer), analyzer)
    at_once = [x for x in tree.all_loops_above(place.stmt) if not x.kind.is_in_order]
    box = box_of_ranges(region)
    if (
        tree.checked
        and at_once
        and not writes_all(tree, block, buffer, place.around, [box], analyzer)
    ):
        raise ScheduleError(
            f"the iterations of {{0}} run at once, and {{1}} may not write all that would be "
            f"copied back to `{buffer.name}`: one could undo what another one writes",
            at=[at_once[-1], block],
            afterwards=partial(carried_afterwards, at_once[-1]),
        )
    return region


@primitive
def cache_write(
    tree: FunctionTree,
    block: BlockRealize,
    write_buffer_index: Any,
    storage_scope: str,
    consumer_blocks: list[BlockRealize] | None = None,
) -> Edit:
    """Let a block write into another buffer, which a new block copies to the original one.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    After ``cache_write("B", 0, "local")``::

        B_local = T.alloc_buffer((16, 32), scope="local")
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_local[vi, vj] = A[vi, vj] * 2.0
        for ax0, ax1 in T.grid(16, 32):
            with T.block("B_local"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B[v0, v1] = B_local[v0, v1]

    A block that reads what it updates, such as ``B[vi] = B[vi] + A[vi]`` without an init, finds it
    in the other buffer: another new block, ``B_local_load``, copies it there first.

    Requires: the block writes all of what is copied, or reads the buffer and runs in loops whose
    iterations run in order; a block with an init initialises all that it updates.

    Args:
        block: the block that writes the buffer.
        write_buffer_index: the position of the buffer in what the block writes, or its name.
        storage_scope: where the other buffer lives.
        consumer_blocks: blocks that read the result from the other buffer; by default none does.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a requirement does not hold, or for a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(matmul)
        sch.cache_write("C", 0, "local")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_not_root(tree, block)
    given = buffer_written(block, write_buffer_index)
    buffer = given.buffer
    scope = scope_of(tree, block)
    if tree.checked:
        require_no_view(tree, scope, buffer)
        require_in_blocks(scope, buffer, only_writes=False)
    loads = reads_values_of_others(tree, block, buffer)
    if not loads:
        require_own_init(tree, block, buffer)
    found = blocks_given(tree, scope, consumer_blocks or [], buffer)
    consumers = [item for item in found if item is not block]  # it reads its own result anyway
    others = scope.users(buffer, besides=[block, *consumers])
    place = place_after(tree, scope.realize, block, others)
    if loads:
        region = region_updated(tree, block, buffer, place)
    else:
        region = region_written(tree, block, buffer, place.around)
    for consumer in consumers:
        _require_consumer(tree, scope, block, consumer, buffer)
    cache = cache_of(buffer, storage_scope)
    edits = redirect_blocks([block, *consumers], buffer, cache)
    before = [copy_nest(f"{cache.name}_load", buffer, cache, region)[0]] if loads else []
    nest, copy = copy_nest(cache.name, cache, buffer, region)
    edit = with_stage(
        tree, scope.realize, edits=edits, place=place.stmt, before=before, after=[nest],
        buffers=[cache], results=copy,
    )  # fmt: skip
    return edit._replace(recorded=recorded_index("write_buffer_index", block, given))


def _require_consumer(
    tree: FunctionTree, scope: Scope, block: BlockRealize, consumer: BlockRealize, buffer: Buffer
) -> None:
    """Refuse a consumer that reads what is not in the new buffer."""
    for other in scope.writers[buffer]:
        if other is not block:
            raise ScheduleError(
                f"{{0}} also writes `{buffer.name}`, so that {{1}} may read more than what {{2}} "
                "writes",
                at=[other, consumer, block],
                counterexample=partial(conflict, tree, other, consumer, buffer),
            )
    if scope.children.index(consumer) < scope.children.index(block):
        raise ScheduleError("{0} runs before {1}", at=[consumer, block])
    around = place_before(tree, scope.realize, [consumer], [block]).around
    analyzer = tree.analyzer_inside(around)
    for access in accesses([consumer], buffer, written=False):
        read = clipped(buffer, accessed_box(tree, access, around, analyzer), analyzer)
        box = box_of_ranges(read)
        if tree.checked and not writes_all(tree, block, buffer, around, [box], analyzer):
            raise ScheduleError(
                f"it is not proved that {{0}} writes all that {{1}} reads of `{buffer.name}`",
                at=[block, consumer],
                counterexample=partial(unwritten_read, tree, consumer, buffer, [block]),
            )


@primitive
def cache_inplace(
    tree: FunctionTree, block: BlockRealize, read_buffer_index: Any, storage_scope: str
) -> Edit:
    """Let a block read and write a copy of a buffer, which is copied back after the block.

    Before::

        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A[vi] = A[vi] + T.float32(1)

    After ``cache_inplace("A", 0, "local")``::

        A_local = T.alloc_buffer((16,), scope="local")
        for ax0 in range(16):
            with T.block("A_local"):
                v0 = T.axis.spatial(16, ax0)
                A_local[v0] = A[v0]
        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A_local[vi] = A_local[vi] + T.float32(1)
        for ax0 in range(16):
            with T.block("A_local"):
                v0 = T.axis.spatial(16, ax0)
                A[v0] = A_local[v0]

    Requires: the block reads and writes the buffer. In a loop whose iterations run concurrently, it
    writes everything that is copied back.

    Args:
        block: the block.
        read_buffer_index: the position of the buffer in what the block reads, or its name.
        storage_scope: where the copy lives.

    Returns:
        The block that copies the buffer, and the one that copies it back.

    Raises:
        ScheduleError: if a requirement does not hold, or for a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(increment)
        copy, copy_back = sch.cache_inplace("A", 0, "local")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_not_root(tree, block)
    given = buffer_read(block, read_buffer_index)
    buffer = given.buffer
    scope = scope_of(tree, block)
    require_no_view(tree, scope, buffer)
    require_in_blocks(scope, buffer, only_writes=False)
    if block not in scope.writers.get(buffer, ()):
        raise ScheduleError(
            f"{{0}} reads `{buffer.name}` and does not write it",
            at=[block],
            hint="cache_read caches a buffer that a block reads",
        )
    others = scope.users(buffer, besides=[block])
    place = place_after(tree, scope.realize, block, others)
    region = region_updated(tree, block, buffer, place)
    cache = cache_of(buffer, storage_scope)
    first, copy = copy_nest(cache.name, buffer, cache, region)
    last, back = copy_nest(cache.name, cache, buffer, region)
    edit = with_stage(
        tree, scope.realize, edits=redirect_blocks([block], buffer, cache), place=place.stmt,
        before=[first], after=[last], buffers=[cache], results=[copy, back],
    )  # fmt: skip
    return edit._replace(recorded=recorded_index("read_buffer_index", block, given))
