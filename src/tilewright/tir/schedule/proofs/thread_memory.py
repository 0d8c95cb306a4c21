"""Memory of which each block or thread of a GPU has its own."""

from __future__ import annotations

from tilewright.ir.expr import is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.edits.bindings import mentioned
from tilewright.tir.schedule.proofs.dataflow import flows_at_once, memory_read
from tilewright.tir.schedule.proofs.scope import buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For, Stmt


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


def may_share_work(tree: FunctionTree, outer: For, inner: For, tag: str) -> bool:
    """Whether threads that run the iterations of `outer` may share those of `inner`, inside of it.

    Otherwise each of them runs all. They may if that fills memory which they have in common, with
    the same values, whichever thread does it.

    Args:
        tree: the program.
        outer: a loop that is bound, or is to be bound, to threads.
        inner: a loop in it, to be bound to the same threads.
        tag: these threads.
    """
    if not tag.startswith("threadIdx") or not _have_same_extent(outer, inner):
        return False
    leaves = tree.leaf_blocks_below(inner)
    scope = tree.scope(outer)
    if any(tree.scope(leaf) is not scope for leaf in leaves):
        return False
    places: list[Stmt] = [stmt for leaf in leaves for stmt in tree.between(outer, leaf)]
    around = [part for stmt in places if isinstance(stmt, For) for part in (stmt.min, stmt.extent)]
    bound = [value for leaf in leaves for value in (*leaf.iter_values, leaf.predicate)]
    if outer.loop_var in mentioned([*around, *bound]):
        return False
    return all(
        block_kind(leaf.block) is BlockKind.COMPLETE
        and all(is_shared_by(b.scope(), tag) for b in buffers_written(leaf.block))
        for leaf in leaves
    )


def is_shared_by(scope: str, tag: str) -> bool:
    """Whether the threads of an axis have memory of `scope` in common, as a tile that all use."""
    if scope.startswith("shared"):
        return tag.startswith(("threadIdx.", "vthread"))
    return scope.startswith("warp") and tag == "threadIdx.x"


def _have_same_extent(one: For, two: For) -> bool:
    return (
        is_const_int(one.min, 0)
        and is_const_int(two.min, 0)
        and (structural_equal(one.extent, two.extent))
    )


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
