"""A cache for what a block reads, with indices that the user chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import buffer_read, recorded_index
from tilewright.tir.schedule.edits.iterator_layout import reindexed_read
from tilewright.tir.schedule.edits.stage import require_not_root
from tilewright.tir.schedule.index_maps import as_index_map
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.storage_scope import known_storage_scope
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def reindex_cache_read(
    tree: FunctionTree,
    block: BlockRealize,
    read_buffer_index: Any,
    storage_scope: str,
    index_map: IndexMap | Callable[..., Any],
) -> Edit:
    """Let a block read a buffer through a cache with indices of the user's choice.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    After ``reindex_cache_read("B", 0, "local", lambda i, j: (j, i))``::

        A_local = T.alloc_buffer((32, 16), scope="local")
        for ax0, ax1 in T.grid(16, 32):
            with T.block("A_local"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                A_local[v1, v0] = A[v0, v1]
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_local[vj, vi] * T.float32(2)

    Requires: the block contains no other block and reads the buffer at one place only; different
    values of the iterators that its indices mention have different places in the cache.

    Args:
        block: the block that reads the buffer.
        read_buffer_index: the position of the buffer in what the block reads, or its name.
        storage_scope: where the cache lives.
        index_map: from the iterators of the block to the indices of the cache.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul)
        sch.reindex_cache_read("C", "B", "local", lambda i, j, k: (j // 8, k, j % 8))
    """
    require_not_root(tree, block)
    storage_scope = known_storage_scope(storage_scope)
    region = buffer_read(block, read_buffer_index)
    found = as_index_map(index_map, len(block.block.iter_vars))
    name = f"{region.buffer.name}_{storage_scope}"
    edit = reindexed_read(tree, block, region.buffer, found, name, storage_scope)
    recorded = recorded_index("read_buffer_index", block, region)
    return edit._replace(recorded={**recorded, "index_map": found})
