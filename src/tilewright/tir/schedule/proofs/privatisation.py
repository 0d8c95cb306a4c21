"""Memory of which each iteration of a loop has its own: none depends on another one by it."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Var
from tilewright.tir.analysis.dependence import NotProved, analyze, carried_by, memory_in_doubt
from tilewright.tir.analysis.dependence.violation import Violation
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.contents import memory_in
from tilewright.tir.schedule.proofs.thread_memory import thread_buffers
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import For, ForKind, Stmt
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.plan_buffer_locations import memory_of_iterations


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
