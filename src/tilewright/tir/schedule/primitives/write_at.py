"""Writing a buffer through another one that is copied in every iteration of a loop."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.tir.schedule.buffer_reference import buffer_written, recorded_index
from tilewright.tir.schedule.edits.copy_block import cache_of
from tilewright.tir.schedule.edits.loop_copy import loop_copy
from tilewright.tir.schedule.edits.redirect import redirect_blocks
from tilewright.tir.schedule.edits.stage import (
    require_around,
    require_in_blocks,
    require_no_view,
    require_own_values,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict
from tilewright.tir.schedule.proofs.coverage import region_written
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.storage_scope import known_storage_scope
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


@primitive
def write_at(
    tree: FunctionTree,
    loop: For,
    block: BlockRealize,
    write_buffer_index: Any,
    storage_scope: str,
) -> Edit:
    """Let a block in a loop write into another buffer, which each iteration copies at its end.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    After ``write_at(i, "B", 0, "shared")``::

        B_shared = T.alloc_buffer((16, 32), scope="shared")
        for i in range(16):
            for j in range(32):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B_shared[vi, vj] = A[vi, vj] * T.float32(2)
            with T.block("B_shared"):
                v0 = T.axis.spatial(16, i)
                T.reads(B_shared[v0, 0:32])
                T.writes(B[v0, 0:32])
                T.block_attr({"auto_copy": 1})
                for ax0, ax1 in T.grid(1, 32):
                    B[v0 + ax0, ax1] = B_shared[v0 + ax0, ax1]

    Requires: in one iteration, the block writes all of what is copied; no other block in the loop
    accesses the buffer.

    Args:
        loop: the loop.
        block: a block in the loop that writes the buffer.
        write_buffer_index: the position of the buffer in what the block writes, or its name.
        storage_scope: where the other buffer lives.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a requirement does not hold, if the loop is not around the block in its
            scope, or for a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.write_at(i, "C", 0, "shared")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_around(tree, loop, block)
    given = buffer_written(block, write_buffer_index)
    buffer = given.buffer
    scope = scope_of(tree, block)
    require_no_view(tree, scope, buffer)
    require_in_blocks(scope, buffer, only_writes=False)
    require_own_values(tree, block, buffer)
    for other in scope.users(buffer, besides=[block]):
        if tree.is_above(loop, other):
            raise ScheduleError(
                f"{{0}} accesses `{buffer.name}` in {{1}}, before the copy",
                at=[other, loop],
                counterexample=partial(conflict, tree, block, other, buffer),
            )
    region = region_written(tree, block, buffer, loop)
    cache = cache_of(buffer, storage_scope)
    copy = loop_copy(tree, loop, cache, buffer, cache.name, region)
    edit = with_stage(
        tree, scope.realize, edits=redirect_blocks([block], buffer, cache), place=loop.body,
        after=[copy], buffers=[cache], results=copy,
    )  # fmt: skip
    return edit._replace(recorded=recorded_index("write_buffer_index", block, given))
