"""Reading a buffer through a copy that is made in every iteration of a loop."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.tir.schedule.buffer_reference import buffer_read, recorded_index
from tilewright.tir.schedule.edits.copy_block import cache_of
from tilewright.tir.schedule.edits.loop_copy import loop_copy
from tilewright.tir.schedule.edits.redirect import redirect_blocks
from tilewright.tir.schedule.edits.stage import (
    require_around,
    require_in_blocks,
    require_no_view,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict
from tilewright.tir.schedule.proofs.coverage import accessed_box
from tilewright.tir.schedule.proofs.regions import accesses, clipped, hull
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.storage_scope import known_storage_scope
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


@primitive
def read_at(
    tree: FunctionTree,
    loop: For,
    block: BlockRealize,
    read_buffer_index: Any,
    storage_scope: str,
) -> Edit:
    """Let the blocks in a loop read a buffer through a copy made at the start of each iteration.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    After ``read_at(i, "B", 0, "shared")``::

        A_shared = T.alloc_buffer((16, 32), scope="shared")
        for i in range(16):
            with T.block("A_shared"):
                v0 = T.axis.spatial(16, i)
                T.reads(A[v0, 0:32])
                T.writes(A_shared[v0, 0:32])
                T.block_attr({"auto_copy": 1})
                for ax0, ax1 in T.grid(1, 32):
                    A_shared[v0 + ax0, ax1] = A[v0 + ax0, ax1]
            for j in range(32):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A_shared[vi, vj] * T.float32(2)

    Requires: nothing in the loop writes the buffer.

    Args:
        loop: the loop.
        block: a block in the loop that reads the buffer.
        read_buffer_index: the position of the buffer in what the block reads, or its name.
        storage_scope: where the copy lives.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a block in the loop writes the buffer, if the loop is not around the
            block in its scope, or for a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.read_at(i, "C", "A", "shared")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_around(tree, loop, block)
    given = buffer_read(block, read_buffer_index)
    buffer = given.buffer
    scope = scope_of(tree, block)
    require_no_view(tree, scope, buffer)
    require_in_blocks(scope, buffer, only_writes=True)
    for writer in scope.writers.get(buffer, ()):
        if tree.is_above(loop, writer):
            raise ScheduleError(
                f"{{0}} writes `{buffer.name}` in {{1}}, behind the copy",
                at=[writer, loop],
                counterexample=partial(conflict, tree, writer, block, buffer),
            )
    readers = [reader for reader in scope.readers[buffer] if tree.is_above(loop, reader)]
    analyzer = tree.analyzer_inside(loop)
    boxes = [
        accessed_box(tree, access, loop, analyzer)
        for access in accesses(readers, buffer, written=False)
    ]
    region = clipped(buffer, hull(boxes, analyzer), analyzer)
    cache = cache_of(buffer, storage_scope)
    copy = loop_copy(tree, loop, buffer, cache, cache.name, region)
    edit = with_stage(
        tree, scope.realize, edits=redirect_blocks(readers, buffer, cache), place=loop.body,
        before=[copy], buffers=[cache], results=copy,
    )  # fmt: skip
    return edit._replace(recorded=recorded_index("read_buffer_index", block, given))
