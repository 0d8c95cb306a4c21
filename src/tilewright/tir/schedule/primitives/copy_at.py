"""Reading or writing a buffer through a copy that each iteration of a loop makes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tilewright.ir.convert import cast, const
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.buffer_reference import (
    buffer_read,
    buffer_written,
    known_storage_scope,
    recorded_index,
)
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.caches import cache_of, redirect_blocks
from tilewright.tir.schedule.edits.loops import domains_of_loops, nest
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
from tilewright.tir.schedule.proofs.coverage import accessed_box, region_written
from tilewright.tir.schedule.proofs.regions import accesses, clipped, hull
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, For
from tilewright.tir.substitute import substitute, variables_of


def loop_copy(
    tree: FunctionTree,
    loop: For,
    source: Buffer,
    target: Buffer,
    name: str,
    region: Sequence[Range],
) -> BlockRealize:
    """A block in the body of `loop` that copies `region` with loops of its own.

    Its iterators ``v0``, ``v1``, ... are the loops around it that the region mentions. The
    annotation ``auto_copy`` tells that the copy may be scheduled as the target wants it.
    """
    mentioned = {var for part in region for end in part.children() for var in variables_of(end)}
    fresh: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    values: list[Expr] = []
    loops_above = [*tree.loops_above(loop), loop]
    for above, domain in domains_of_loops(tree, loops_above, mentioned).items():
        var = Var(f"v{len(iterators)}", above.loop_var.dtype)
        iterators.append(IterVar(domain, var, IterType.DATA_PAR))
        values.append(above.loop_var)
        fresh[above.loop_var] = var
    inside = [substitute(part, fresh) for part in region]
    loops: dict[Var, Expr] = {}
    indices: list[Expr] = []
    for axis, part in enumerate(inside):
        dtype = source.shape[axis].dtype
        loop_var = Var(f"ax{axis}", dtype)
        loops[loop_var] = cast(dtype, part.extent)
        low = cast(dtype, part.min)
        indices.append(loop_var if is_const_int(low, 0) else low + loop_var)
    at = tuple(indices)
    _, body = nest(loops, BufferStore(target, BufferLoad(source, at), at))
    block = Block(
        tuple(iterators),
        (BufferRegion(source, tuple(inside)),),
        (BufferRegion(target, tuple(inside)),),
        name,
        body,
        annotations={"auto_copy": const(1)},
        key=BlockKey(),
    )
    return BlockRealize(tuple(values), TRUE, block)


@primitive
def read_at(
    tree: FunctionTree,
    loop: For,
    block: BlockRealize,
    read_buffer_index: Any,
    storage_scope: str,
) -> Edit:
    """Let the blocks in a loop read a buffer through a copy made at the start of each iteration.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    After ``read_at(i, "B", 0, "shared")``::

        A_shared = T.alloc_buffer((16, 32), scope="shared")
        for i in range(16):
            with T.block("A_shared"):
                v0 = T.axis.spatial(16, i)
                T.reads(A[v0, 0:32])
                T.writes(A_shared[v0, 0:32])
                T.block_attr({"auto_copy": 1})
                for ax0, ax1 in T.grid(1, 32):
                    A_shared[v0 + ax0, ax1] = A[v0 + ax0, ax1]
            for j in range(32):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A_shared[vi, vj] * T.float32(2)

    Requires: nothing in the loop writes the buffer.

    Args:
        loop: the loop.
        block: a block in the loop that reads the buffer.
        read_buffer_index: the position of the buffer in what the block reads, or its name.
        storage_scope: where the copy lives.

    Returns:
        The block that copies.

    Raises:
        ScheduleError: if a block in the loop writes the buffer, if the loop is not around the
            block in its scope, or for a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.read_at(i, "C", "A", "shared")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_around(tree, loop, block)
    given = buffer_read(block, read_buffer_index)
    buffer = given.buffer
    scope = scope_of(tree, block)
    require_no_view(tree, scope, buffer)
    require_in_blocks(scope, buffer, only_writes=True)
    for writer in scope.writers.get(buffer, ()):
        if tree.is_above(loop, writer):
            raise ScheduleError(
                f"{{0}} writes `{buffer.name}` in {{1}}, behind the copy",
                at=[writer, loop],
                counterexample=partial(conflict, tree, writer, block, buffer),
            )
    readers = [reader for reader in scope.readers[buffer] if tree.is_above(loop, reader)]
    analyzer = tree.analyzer_inside(loop)
    boxes = [
        accessed_box(tree, access, loop, analyzer)
        for access in accesses(readers, buffer, written=False)
    ]
    region = clipped(buffer, hull(boxes, analyzer), analyzer)
    cache = cache_of(buffer, storage_scope)
    copy = loop_copy(tree, loop, buffer, cache, cache.name, region)
    edit = with_stage(
        tree, scope.realize, edits=redirect_blocks(readers, buffer, cache), place=loop.body,
        before=[copy], buffers=[cache], results=copy,
    )  # fmt: skip
    return edit._replace(recorded=recorded_index("read_buffer_index", block, given))


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
