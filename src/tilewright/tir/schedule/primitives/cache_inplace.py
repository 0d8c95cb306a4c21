"""Updating a buffer through a copy of it."""

from __future__ import annotations

from typing import Any

from tilewright.tir.schedule.buffer_reference import buffer_read, recorded_index
from tilewright.tir.schedule.edits.copy_block import cache_of, copy_nest
from tilewright.tir.schedule.edits.insertion import place_after
from tilewright.tir.schedule.edits.redirect import redirect_blocks
from tilewright.tir.schedule.edits.region_updated import region_updated
from tilewright.tir.schedule.edits.stage import (
    require_in_blocks,
    require_no_view,
    require_not_root,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.storage_scope import known_storage_scope
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def cache_inplace(
    tree: FunctionTree, block: BlockRealize, read_buffer_index: Any, storage_scope: str
) -> Edit:
    """Let a block read and write a copy of a buffer, which is copied back behind the block.

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

    Requires: the block reads and writes the buffer. In a loop whose iterations run at once, it
    writes all that is copied back.

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
