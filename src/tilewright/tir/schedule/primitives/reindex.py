"""A cache with one dimension per iterator of a block."""

from __future__ import annotations

from typing import Any

from tilewright.tir.schedule.buffer_reference import any_buffer, recorded_reference
from tilewright.tir.schedule.edits.iterator_layout import reindexed_read, reindexed_write
from tilewright.tir.schedule.edits.stage import require_not_root
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def reindex(tree: FunctionTree, block: BlockRealize, buffer: Any) -> Edit:
    """Let a block access a buffer through a cache whose indices are the block's iterators.

    The cache has one dimension for each iterator that the indices of the buffer mention.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi + 1] * T.float32(2)

    After ``reindex("B", ("read", 0))``::

        A_reindex = T.alloc_buffer((16, 32))
        for ax0, ax1 in T.grid(16, 32):
            with T.block("A_reindex"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                A_reindex[v0, v1] = A[v1, v0 + 1]
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_reindex[vi, vj] * T.float32(2)

    Requires: the block contains no other block, and accesses the buffer at one place only. For a
    buffer that it writes: different instances write different elements (those of a reduction
    aside), without gaps between the values of the iterators.

    Args:
        block: the block.
        buffer: ``("read", index)`` or ``("write", index)``, the name of the buffer, or itself. A
            buffer that is both read and written is cached as one that is written.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(transpose)
        sch.reindex("B", ("read", 0))
    """
    require_not_root(tree, block)
    region = any_buffer(block, buffer)
    reference = recorded_reference(block, region)
    reindexed = reindexed_write if reference[0] == "write" else reindexed_read
    source = region.buffer
    edit = reindexed(tree, block, source, None, f"{source.name}_reindex", source.scope())
    return edit._replace(recorded={"buffer": list(reference)})
