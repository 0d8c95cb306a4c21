"""Shared memory that each instance of a block has for itself, although threads run instances::

    for i in thread_binding(2, "threadIdx.x"):
        with block("rows"):
            v = axis.spatial(2, i)
            total = alloc_buffer((1,), scope="shared")     # one for both threads
            total[0] = A[v]
            B[v] = total[0]

The threads of a block have one piece of shared memory, so that both would use the same element.
"""

from __future__ import annotations

from tilewright.ir.expr import Expr, Var
from tilewright.tir.access import Access, Surroundings, collect_accesses, iterations_of
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import Block, BlockRealize, For, LetStmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.thread_axes import THREADS, Axis, tag_of
from tilewright.tir.transform.device.thread_conflicts import ThreadConflicts


def refuse_shared_instances(func: PrimFunc) -> PrimFunc:
    """`func`, if instances of blocks that threads run have shared memory of their own, or none.

    What is too complicated to decide is left to the proof of the step that bound a loop.

    Raises:
        KernelError: with two threads that use the same element of memory that is not the same.
    """
    if not any(isinstance(stmt, Block) and _shared_memory(stmt) for stmt in statements(func.body)):
        return func
    summary = collect_accesses(func.body, enter_blocks=True)
    for realize, around in summary.blocks:
        shared, threads = _shared_memory(realize.block), _thread_loops(around)
        axes = _axes_of_instances(realize, around) if shared else []
        for buffer in shared if axes else ():
            # Loops over threads inside of the block tell threads apart in another way.
            accesses = [
                access.without(threads)  # they are the axes
                for access in summary.accesses
                if access.memory is buffer.data
                and len(_thread_loops(access.around)) == len(threads)
            ]
            _check(realize.block, buffer, axes, accesses)
    return func


def _shared_memory(block: Block) -> list[Buffer]:
    """What a block allocates of the memory that threads share."""
    return [b for b in block.alloc_buffers if owner_of(b.scope()) is MemoryOwner.BLOCK]


def _check(block: Block, buffer: Buffer, axes: list[Axis], accesses: list[Access]) -> None:
    conflicts = ThreadConflicts(axes)
    for number, first in enumerate(accesses):
        for second in accesses[number:]:
            if conflicts.certainly_among_threads(first, second):
                raise KernelError(
                    f"{buffer.name}: each instance of block {block.name_hint} has this memory for "
                    "itself, and threads that run instances share it",
                    loops=[axis.var for axis in axes],
                    example=conflicts.threads_that_meet(first, second),
                    hint='allocate it in the scope "local", or outside of the loop over threads '
                    "with a dimension for them",
                )


def _thread_loops(around: Surroundings) -> list[For]:
    return [loop for loop in around.loops if tag_of(loop) in THREADS]


def _axes_of_instances(realize: BlockRealize, around: Surroundings) -> list[Axis]:
    """The axes of threads that run instances of their own of a block."""
    depends = {loop.loop_var: {loop.loop_var} for loop in _thread_loops(around)}

    def threads_in(expr: Expr | None) -> set[Var]:
        variables = () if expr is None else variables_of(expr)
        return set().union(*(depends.get(var, set()) for var in variables))

    for node in (*around.definitions, realize):
        if isinstance(node, LetStmt):
            depends[node.var] = threads_in(node.value)
        elif isinstance(node, BlockRealize):
            for item in iterations_of(node):
                depends[item.var] = threads_in(item.binding)
    own = set().union(*(depends.get(item.var, set()) for item in realize.block.iter_vars))
    return [
        Axis(tag_of(loop), loop.loop_var, loop.extent)
        for loop in _thread_loops(around)
        if loop.loop_var in own
    ]
