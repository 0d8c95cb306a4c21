"""Caches whose indices are the iterators of a block, or chosen by the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.convert import as_integer
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import (
    any_buffer,
    as_index_map,
    buffer_read,
    buffer_written,
    known_storage_scope,
    recorded_index,
    recorded_reference,
)
from tilewright.tir.schedule.edits.iterator_layout import reindexed_read, reindexed_write
from tilewright.tir.schedule.edits.stage import require_not_root
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def reindex(
    tree: FunctionTree, block: BlockRealize, buffer: Any, occurrence: int | None = None
) -> Edit:
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

    Requires: the block contains no other block, and accesses the buffer at one place only, unless
    `occurrence` says at which of those that it reads. For a buffer that it writes: different
    instances write different elements (those of a reduction aside), without gaps between the values
    of the iterators.

    Args:
        block: the block.
        buffer: ``("read", index)`` or ``("write", index)``, the name of the buffer, or itself. A
            buffer that is both read and written is cached as one that is written.
        occurrence: which of several places of a buffer is meant that the block only reads, in the
            order of the program: ``A[i, k] * A[k, j]`` has places 0 and 1.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a requirement does not hold.
        ArgumentError: if `occurrence` is no integer.

    Example::

        sch = tir.Schedule(transpose)
        sch.reindex("B", ("read", 0))
    """
    place = None if occurrence is None else as_integer(occurrence)
    if place is None and occurrence is not None:
        raise ArgumentError(f"reindex: `occurrence` is the number of a place, got {occurrence!r}")
    require_not_root(tree, block)
    region = any_buffer(block, buffer)
    reference = recorded_reference(block, region)
    source = region.buffer
    cache = None, f"{source.name}_reindex", source.scope()
    if reference[0] == "read":
        edit = reindexed_read(tree, block, source, *cache, place)
    elif place is None:
        edit = reindexed_write(tree, block, source, *cache)
    else:
        raise ScheduleError(f"{{0}} writes `{source.name}`, at one place only", at=[block])
    return edit._replace(recorded={"buffer": list(reference), "occurrence": place})


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


@primitive
def reindex_cache_write(
    tree: FunctionTree,
    block: BlockRealize,
    write_buffer_index: Any,
    storage_scope: str,
    index_map: IndexMap | Callable[..., Any],
) -> Edit:
    """Let a block write a buffer through a cache with indices of the user's choice.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    After ``reindex_cache_write("B", 0, "local", lambda i, j: (j, i))``::

        B_local = T.alloc_buffer((32, 16), scope="local")
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_local[vj, vi] = A[vi, vj] * T.float32(2)
        for ax0, ax1 in T.grid(16, 32):
            with T.block("B_local"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B[v0, v1] = B_local[v1, v0]

    Requires: the block contains no other block and writes the buffer at one place only; different
    values of the iterators that its indices mention have different places in the buffer and in the
    cache; and there are no gaps between the values of the iterators.

    Args:
        block: the block that writes the buffer.
        write_buffer_index: the position of the buffer in what the block writes, or its name.
        storage_scope: where the cache lives.
        index_map: from the iterators of the block to the indices of the cache.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul)
        sch.reindex_cache_write("C", 0, "local", lambda i, j, k: (j, i))
    """
    require_not_root(tree, block)
    storage_scope = known_storage_scope(storage_scope)
    region = buffer_written(block, write_buffer_index)
    found = as_index_map(index_map, len(block.block.iter_vars))
    name = f"{region.buffer.name}_{storage_scope}"
    edit = reindexed_write(tree, block, region.buffer, found, name, storage_scope)
    recorded = recorded_index("write_buffer_index", block, region)
    return edit._replace(recorded={**recorded, "index_map": found})
