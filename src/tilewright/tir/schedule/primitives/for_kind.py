"""How the iterations of a loop run: in parallel, as vectors, unrolled, or by GPU threads.

That the iterations of a loop which run at once are independent is checked after every step, of
this and of all other primitives: see `Schedule`.
"""

from __future__ import annotations

import re
from typing import Final

from tilewright.error import ArgumentError
from tilewright.ir.expr import IntImm, Var
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.private_memory import may_share_work
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import For, ForKind


@primitive
def parallel(tree: FunctionTree, loop: For) -> Edit:
    """Run the iterations of a loop on several threads.

    Before::

        for i in range(128):
            S(i)

    After ``parallel(i)``::

        for i in T.parallel(128):
            S(i)

    Each thread gets an equal part of them. Where iterations take different amounts of time,
    ``sch.annotate(loop, "pragma_parallel_schedule", "dynamic")`` lets idle threads take iterations
    from the others.

    Requires: no iteration depends on another one. Sums over the loop need `rfactor` first.

    Args:
        loop: the loop.

    Raises:
        ScheduleError: if two iterations access the same element and one of them writes it.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.parallel(i)
    """
    return tree.edit({loop: _of_kind(loop, ForKind.PARALLEL)})


@primitive
def vectorize(tree: FunctionTree, loop: For) -> Edit:
    """Run the iterations of a loop as lanes of vector instructions.

    Before::

        for i in range(16):
            S(i)

    After ``vectorize(i)``::

        for i in T.vectorized(16):
            S(i)

    Iterations may also sum up into the same element (or take the maximum, and so on). Each lane
    then has a sum of its own, and these are added up after the loops around that reduce into the
    same element. Sums of floats are rounded differently than one after the other.

    Requires: no iteration depends on another one, except by a reduction of the only block in it.

    Args:
        loop: the loop, usually of as many iterations as a vector has lanes, or a few times that.

    Raises:
        ScheduleError: if two iterations access the same element and one of them writes it.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        j_0, j_1 = sch.split(j, [None, 8])
        sch.vectorize(j_1)
    """
    return tree.edit({loop: _of_kind(loop, ForKind.VECTORIZED)})


@primitive
def unroll(tree: FunctionTree, loop: For) -> Edit:
    """Repeat the body of a loop once per iteration.

    Before::

        for i in range(4):
            S(i)

    After ``unroll(i)``::

        for i in T.unroll(4):
            S(i)

    Requires: the extent is constant.

    Args:
        loop: the loop.

    Raises:
        ScheduleError: for a loop whose extent is not constant.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.unroll(k)
    """
    if tree.checked:
        _require_constant_extent(tree, loop)
    return tree.edit({loop: _of_kind(loop, ForKind.UNROLLED)})


def _require_constant_extent(tree: FunctionTree, loop: For) -> None:
    if not isinstance(tree.analyzer(loop).simplify(loop.extent), IntImm):
        raise ScheduleError(
            f"the extent of {{0}}, {loop.extent}, is not constant",
            at=[loop],
            hint="split the loop, and unroll an inner loop of constant extent",
        )


_THREADS: Final = re.compile(r"(blockIdx|threadIdx|vthread)\.[xyz]|vthread(\.\w+)?")


@primitive
def bind(tree: FunctionTree, loop: For, thread_axis: str) -> Edit:
    """Let GPU threads or blocks run the iterations of a loop.

    Before::

        for i in range(128):
            S(i)

    After ``bind(i, "threadIdx.x")``::

        for i in T.thread_binding(128, thread="threadIdx.x"):
            S(i)

    Requires: no iteration depends on another one; for ``threadIdx``, iterations may also sum up
    into the same element (a reduction across threads), and for any axis if the block is annotated
    as ``atomic``. Threads of different blocks of a kernel exchange no values, not even between its
    loops; all loops of an axis in a kernel have compatible extents; and all threads reach every
    barrier. A loop around or inside has the same axis only if the inner one fills memory that the
    threads share, so that they can share the work::

        for i in T.thread_binding(32, thread="threadIdx.x"):
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("A_shared"):       # each thread copies one row
                    ...

    Args:
        loop: the loop.
        thread_axis: ``"blockIdx.x"``, ``"threadIdx.y"``, ``"vthread.z"``, and so on; or a
            `te.thread_axis`.

    Raises:
        ScheduleError: for an unknown axis, one that is bound around or inside of the loop,
            iterations that depend on each other, or a kernel that threads cannot run.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        sch.bind(i, "blockIdx.x")
        sch.bind(j, "threadIdx.x")
    """
    tag = getattr(thread_axis, "thread_tag", thread_axis)
    if not isinstance(tag, str):
        raise ArgumentError(f"bind: thread_axis is a string, got {thread_axis!r}")
    if not _THREADS.fullmatch(tag):
        raise ScheduleError(
            f"there is no thread axis {tag!r}: it is blockIdx, threadIdx or vthread with .x, .y "
            "or .z",
            at=[loop],
        )
    for other in _loops_around_and_inside(tree, loop):
        binding = other.thread_binding
        if binding is None or binding.thread_tag != tag or tag.startswith("vthread"):
            continue
        outer, inner = (other, loop) if tree.is_above(other, loop) else (loop, other)
        if not may_share_work(tree, outer, inner, tag):
            raise ScheduleError(
                f"{{1}} is bound to {tag} already",
                at=[loop, other],
                hint="bind it to another axis; loops of one axis, one inside of the other, have "
                "the same number of iterations, and share the work of filling shared memory",
            )
    thread = IterVar(None, Var("", loop.loop_var.dtype), IterType.THREAD_INDEX, tag)
    bound = _of_kind(loop, ForKind.THREAD_BINDING).replace(thread_binding=thread)
    return Edit(tree.edit({loop: bound}).func, None, {"thread_axis": tag})


def _of_kind(loop: For, kind: ForKind) -> For:
    if loop.thread_binding is not None and kind is not ForKind.THREAD_BINDING:
        raise ScheduleError(
            f"{{0}} is bound to {loop.thread_binding.thread_tag} already", at=[loop]
        )
    return loop.replace(kind=kind)


def _loops_around_and_inside(tree: FunctionTree, loop: For) -> list[For]:
    found = tree.all_loops_above(loop)
    below = list(tree.children(loop))
    while below:
        stmt = below.pop()
        if isinstance(stmt, For):
            found.append(stmt)
        below += tree.children(stmt)
    return found
