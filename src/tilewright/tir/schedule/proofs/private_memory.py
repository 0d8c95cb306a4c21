"""Memory of which every iteration of a parallel loop, or every thread, has its own."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.dependence import NotProved, analyze, carried_by, memory_in_doubt
from tilewright.tir.analysis.dependence.violation import Violation
from tilewright.tir.buffer import Buffer
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.schedule.contents import memory_in
from tilewright.tir.schedule.edits.bindings import mentioned
from tilewright.tir.schedule.proofs.dataflow import flows_at_once, memory_read
from tilewright.tir.schedule.proofs.scope import buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For, ForKind, Stmt
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.plan_buffer_locations import memory_of_iterations


def thread_buffers(tree: FunctionTree, loop: For) -> set[Buffer]:
    """The buffers by which the iterations of a loop that is bound to threads do not depend.

    They are used inside of the loop only, and an iteration reads only what it has written itself.
    Each thread has its own ``local`` memory, and each block of threads its own ``shared`` memory.
    Threads of a block may fill shared memory together: all write the same values, as long as the
    blocks that write it are complete.
    """
    assert loop.thread_binding is not None
    tag = loop.thread_binding.thread_tag
    leaves = tree.leaf_blocks_below(tree.root)
    found: set[Buffer] = set()
    for realize in tree.blocks():
        for buffer in realize.block.alloc_buffers:
            if owner_of(buffer.scope()) is MemoryOwner.DEVICE:
                continue
            writers = [leaf for leaf in leaves if buffer in buffers_written(leaf.block)]
            is_filled_alike = all(block_kind(w.block) is BlockKind.COMPLETE for w in writers)
            is_own = not is_shared_by(buffer.scope(), tag) or is_filled_alike
            if is_own and _is_used_by_iterations(tree, loop, buffer, writers, leaves):
                found.add(buffer)
    return found


def may_share_work(tree: FunctionTree, outer: For, inner: For, tag: str) -> bool:
    """Whether threads that run the iterations of `outer` may share those of `inner`, inside of it.

    Otherwise each of them runs all. They may if that fills memory which they have in common, with
    the same values, whichever thread does it.

    Args:
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
    owner = owner_of(scope)
    if owner is MemoryOwner.BLOCK:
        return tag.startswith(("threadIdx.", "vthread"))
    return owner is MemoryOwner.WARP and tag == "threadIdx.x"


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


def depends_by_own_memory(tree: FunctionTree, loop: For) -> bool:
    """Whether it is plain that iterations depend, if at all, by memory that each has for itself."""
    doubtful = memory_in_doubt(analyze(tree.func), loop)
    if not doubtful:
        return doubtful is not None
    if not doubtful <= {buffer.data for buffer in _used_only_inside(tree, loop)}:
        return False
    own = memory_of_iterations(lower_blocks(tree.func), loop.loop_var, doubtful)
    return doubtful <= own


def without_private(
    tree: FunctionTree, loop: For, found: Violation | NotProved
) -> Violation | NotProved | None:
    """What is wrong if iterations have memory of their own for some buffers; `found` if not.

    It is cheap to tell which buffers only the loop uses, and whether they matter.
    """
    candidates = _used_only_inside(tree, loop)
    if candidates:
        rest = carried_by(analyze(tree.func), loop, ignore=candidates)
        if rest is not None:
            return rest
    private = PRIVATE[loop.kind](tree, loop) if candidates else ()
    return carried_by(analyze(tree.func), loop, ignore=private) if private else found


def _used_only_inside(tree: FunctionTree, loop: For) -> set[Buffer]:
    """The allocated buffers whose memory is mentioned in the loop, and nowhere else."""
    outside: set[Var] = set()
    inside: Stmt = loop
    for above in tree.ancestors(loop):
        for child in above.children():
            if isinstance(child, Stmt) and child is not inside:
                outside |= memory_in(child).anywhere
        inside = above
    return {
        buffer
        for realize in tree.blocks()
        for buffer in realize.block.alloc_buffers
        if buffer.data not in outside
    }


def private_buffers(tree: FunctionTree, loop: For) -> set[Buffer]:
    """The buffers of which lowering gives each iteration of a parallel loop its own."""
    allocated = {b.data: b for r in tree.blocks() for b in r.block.alloc_buffers}
    own = memory_of_iterations(lower_blocks(tree.func), loop.loop_var)
    return {buffer for pointer, buffer in allocated.items() if pointer in own}


PRIVATE: Final = {ForKind.PARALLEL: private_buffers, ForKind.THREAD_BINDING: thread_buffers}
"""How to find the buffers of which each iteration has its own."""
