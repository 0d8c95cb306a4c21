"""Choosing where a buffer lives."""

from __future__ import annotations

from typing import Any

from tilewright.tir.schedule.buffer_reference import buffer_written, recorded_index
from tilewright.tir.schedule.edits.redirect import in_scope, redirected
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.scope import require_allocating_block
from tilewright.tir.schedule.storage_scope import known_storage_scope
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def set_scope(
    tree: FunctionTree, block: BlockRealize, buffer_index: Any, storage_scope: str
) -> Edit:
    """Put a buffer that a block writes into a storage scope.

    Before::

        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2.0

    After ``set_scope("B", 0, "shared")``::

        B = T.alloc_buffer((16,), scope="shared")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2.0

    Requires: the buffer is allocated inside of the function.

    Args:
        block: a block that writes the buffer.
        buffer_index: the position of the buffer in what the block writes, or its name.
        storage_scope: where the buffer is to live.

    Raises:
        ScheduleError: for an unknown scope, or a buffer that is a parameter or a view.

    Example::

        sch = tir.Schedule(scale_add)
        sch.set_scope("B", 0, "shared")
    """
    storage_scope = known_storage_scope(storage_scope)
    region = buffer_written(block, buffer_index)
    buffer = region.buffer
    owner = require_allocating_block(tree, buffer)
    edit = Edit(tree.func)
    if buffer.scope() != storage_scope:
        moved = redirected(owner.block, buffer, in_scope(buffer, storage_scope))
        edit = tree.edit({owner.block: moved})
    return edit._replace(recorded=recorded_index("buffer_index", block, region))
