"""Memory of which each block or thread of a GPU has its own."""

from __future__ import annotations

from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.dataflow import flows_at_once, memory_read
from tilewright.tir.schedule.scope import buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For


def thread_buffers(tree: FunctionTree, loop: For) -> set[Buffer]:
    """The buffers by which the iterations of a loop that is bound to threads do not depend.

    They are used inside of the loop only, and an iteration reads only what it has written itself.
    Each thread has its own ``local`` memory, and each block of threads its own ``shared`` memory.
    Threads of a block may fill shared memory together: all write the same values, as long as the
    blocks that write it are complete.
    """
    assert loop.thread_binding is not None
    is_block = loop.thread_binding.thread_tag.startswith("blockIdx")
    leaves = tree.leaf_blocks_below(tree.root)
    found: set[Buffer] = set()
    for realize in tree.blocks():
        for buffer in realize.block.alloc_buffers:
            scope = buffer.scope()
            if scope == "global":
                continue
            writers = [leaf for leaf in leaves if buffer in buffers_written(leaf.block)]
            is_filled_alike = all(block_kind(w.block) is BlockKind.COMPLETE for w in writers)
            is_own = is_block or not scope.startswith(("shared", "warp")) or is_filled_alike
            if is_own and _is_used_by_iterations(tree, loop, buffer, writers, leaves):
                found.add(buffer)
    return found


def _is_used_by_iterations(
    tree: FunctionTree,
    loop: For,
    buffer: Buffer,
    writers: list[BlockRealize],
    leaves: list[BlockRealize],
) -> bool:
    """Whether each iteration of the loop reads of the buffer only what it has written itself."""
    readers = [leaf for leaf in leaves if buffer in memory_read(leaf)]
    return all(tree.is_above(loop, leaf) for leaf in (*writers, *readers)) and all(
        any(flows_at_once(tree, buffer, writer, reader) for writer in writers) for reader in readers
    )
