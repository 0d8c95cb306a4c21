"""Loops over the blocks and threads of a device become the axes of a kernel.

Before::                                     After::

    for i_0 in thread_binding(8, "blockIdx.x"):    launch i_0 over blockIdx.x in range(8):
        for i_1 in thread_binding(32,                  launch i_1 over threadIdx.x in range(32):
                                  "threadIdx.x"):          A_shared[i_1] = A[...]
            for a in thread_binding(32,                    B[i_0 * 32 + i_1] = A_shared[31 - i_1]
                                    "threadIdx.x"):
                A_shared[a] = A[...]
            B[i_0 * 32 + i_1] = A_shared[31 - i_1]

All loops that are bound to an axis are that axis; inside of another one, a loop shares its work
among the threads, and each of them has its part. Where a loop has fewer iterations than the axis
has threads, a condition keeps the others away. What is outside of all loops of an axis is done by
its first thread, if others see the result.

The loops around are ``thread_extent`` attributes afterwards, the blocks first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import logical_and, maximum
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import BufferLoad, Range, storage_scope
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import (
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    Stmt,
)
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.tile_operations import tile_operation_of
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.dependent_stores import dependent_stores
from tilewright.tir.transform.device.kernel_error import KernelError

THREAD_EXTENT: Final = "thread_extent"
"""The attribute of an `IterVar` that is an axis of a kernel; its value is the extent."""

BLOCKS: Final = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
THREADS: Final = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
WARP: Final = 32
"""Number of threads of a warp, which are neighbours along x."""

AXES: Final = (*BLOCKS[::-1], *THREADS[::-1])
"""The axes of kernels, the outermost first."""

VIRTUAL: Final = ("vthread", "vthread.x", "vthread.y", "vthread.z", "cthread")
"""Threads that one thread of the device stands for, one after the other."""


class Axis(NamedTuple):
    """An axis of a kernel.

    Attributes:
        tag: such as ``"threadIdx.x"``.
        var: the index of a thread or block along the axis.
        extent: number of them.
    """

    tag: str
    var: Var
    extent: Expr


def unify_thread_axes(func: PrimFunc) -> PrimFunc:
    """`func` with kernels in place of loops that are bound to blocks and threads.

    Raises:
        KernelError: for a loop that is bound to an unknown axis, for loops over an axis whose
            extents are not known to fit together, or that depend on a thread.
    """
    if not any(is_bound(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_Kernels()(func.body))


def is_bound(stmt: Stmt) -> bool:
    """Whether `stmt` is a loop over the blocks or threads of a device."""
    return isinstance(stmt, For) and stmt.kind is ForKind.THREAD_BINDING


def tag_of(loop: For) -> str:
    """The axis that a loop is bound to."""
    return loop.thread_binding.thread_tag if loop.thread_binding is not None else ""


def is_axis(stmt: Stmt) -> bool:
    """Whether `stmt` says over which blocks or threads its body runs."""
    return isinstance(stmt, AttrStmt) and stmt.attr_key == THREAD_EXTENT


def axes_and_body(kernel: Stmt) -> tuple[list[Axis], Stmt]:
    """The axes of a kernel, the outermost first, and what each thread does."""
    axes: list[Axis] = []
    while isinstance(kernel, AttrStmt) and is_axis(kernel):
        assert isinstance(kernel.node, IterVar)
        axes.append(Axis(kernel.node.thread_tag, kernel.node.var, kernel.value))
        kernel = kernel.body
    return axes, kernel


def with_body(kernel: Stmt, body: Stmt) -> Stmt:
    """A kernel of the same axes that does something else."""
    if not is_axis(kernel):
        return body
    assert isinstance(kernel, AttrStmt)
    inner = with_body(kernel.body, body)
    return kernel if inner is kernel.body else kernel.replace(body=inner)


class _Kernels(Rewriter):
    def For(self, loop: For) -> Stmt:
        if not is_bound(loop):
            return _in_order(loop.map_children(self))
        axes = {axis.tag: axis for axis in axes_of(loop)}
        _require_own_memory(loop, axes)
        body = _Threads(axes)(loop)
        for tag in reversed(AXES):
            if tag in axes:
                axis = axes[tag]
                node = IterVar(Range.from_extent(axis.extent), axis.var, IterType.THREAD_INDEX, tag)
                body = AttrStmt(node, THREAD_EXTENT, axis.extent, body)
        return body


def _require_own_memory(kernel: For, axes: Mapping[str, Axis]) -> None:
    """Refuse memory of a block, or of a thread, that several of them would use together.

    Such memory is there once for each of them. So a loop over blocks or threads has all of its
    uses, or none.
    """
    uses = _uses_by_memory(kernel)
    if not uses:
        return
    for loop in statements(kernel):
        if not isinstance(loop, For) or not is_bound(loop):
            continue
        for memory, inside in _uses_by_memory(loop).items():
            if len(inside) < len(uses[memory]) and _divides(loop, memory, inside, axes):
                scope = storage_scope(memory)
                raise KernelError(
                    f"each {owner_of(scope).value} has {memory.name} of scope {scope!r} for "
                    f"itself, but loop {loop.loop_var.name}, which is bound to {tag_of(loop)}, "
                    "has a part of its uses only",
                    loops=[loop.loop_var],
                    hint="bind a loop around all of them",
                )


def _divides(
    loop: For, memory: Var, inside: Sequence[BufferLoad | BufferStore], axes: Mapping[str, Axis]
) -> bool:
    """Whether the iterations of a bound loop have each their own memory, and use parts of it."""
    tag = tag_of(loop)
    if tag in BLOCKS:
        return True
    if owner_of(storage_scope(memory)) is not MemoryOwner.THREAD:
        return False
    if any(loop.loop_var in variables_of(index) for access in inside for index in access.indices):
        return True
    if tag in VIRTUAL or not any(isinstance(access, BufferStore) for access in inside):
        return False
    # What does not depend on the thread is the same in the memory of all threads that come.
    is_whole = structural_equal(loop.extent, axes[tag].extent)
    return not is_whole or memory in dependent_stores(loop, of_threads=True).others


def _uses_by_memory(stmt: Stmt) -> dict[Var, list[BufferLoad | BufferStore]]:
    """The accesses to memory that blocks or threads have for themselves."""
    found: dict[Var, list[BufferLoad | BufferStore]] = {}
    for node in walk(stmt):
        if not isinstance(node, (BufferLoad, BufferStore)):
            continue
        if owner_of(node.buffer.scope()) in (MemoryOwner.THREAD, MemoryOwner.BLOCK):
            found.setdefault(node.buffer.data, []).append(node)
    return found


def axes_of(kernel: For) -> Iterator[Axis]:
    """The axes of all loops in a kernel; an axis is as long as the longest of them."""
    loops: dict[str, list[For]] = {}
    for stmt in statements(kernel):
        if isinstance(stmt, For) and is_bound(stmt) and tag_of(stmt) not in VIRTUAL:
            loops.setdefault(tag_of(stmt), []).append(stmt)
    inner = {stmt.loop_var for stmt in statements(kernel) if isinstance(stmt, For)}
    works_on_tiles = any(tile_operation_of(stmt) for stmt in statements(kernel))
    for tag, bound in loops.items():
        if tag not in AXES:
            raise KernelError(
                f"loop {bound[0].loop_var.name} is bound to {tag!r}; the axes of a device are "
                f"{', '.join((*AXES[::-1], *VIRTUAL))}",
                loops=[bound[0].loop_var],
            )
        longest = bound[0].extent
        for loop in bound[1:]:
            longest = _longer(longest, bound[0], loop)
        if not (isinstance(longest, IntImm) and longest.value > 0) and _acts_outside(kernel, tag):
            longest = maximum(longest, const(1, longest.dtype))  # or what is outside never ran
        if works_on_tiles and tag == "threadIdx.x" and not is_const_int(longest, WARP):
            raise KernelError(
                f"loop {bound[0].loop_var.name} over threadIdx.x has {longest} iterations, but "
                f"the {WARP} threads of a warp work on tiles together",
                loops=[bound[0].loop_var],
                hint=f"give it {WARP} iterations, and bind another loop to threadIdx.y",
            )
        changing = [var.name for var in variables_of(longest) if var in inner]
        if changing:
            raise KernelError(
                f"loop {bound[0].loop_var.name} is bound to {tag} and has {longest} iterations, "
                f"which change with loop {changing[0]}: the number of threads is chosen before "
                "they start",
                loops=[bound[0].loop_var],
                hint="use the largest number, and a condition inside",
            )
        yield Axis(tag, bound[0].loop_var, longest)
    if works_on_tiles and "threadIdx.x" not in loops:
        yield Axis("threadIdx.x", Var("lane", INT32), const(WARP))


def _acts_outside(stmt: Stmt, tag: str) -> bool:
    """Whether a statement does something outside of loops over an axis."""
    if isinstance(stmt, For) and is_bound(stmt) and tag_of(stmt) == tag:
        return False
    if isinstance(stmt, (BufferStore, Evaluate)):
        return True
    return any(_acts_outside(part, tag) for part in stmt.children() if isinstance(part, Stmt))


def _longer(longest: Expr, first: For, loop: For) -> Expr:
    tag, extent = tag_of(loop), loop.extent
    if isinstance(longest, IntImm) and isinstance(extent, IntImm) and tag in THREADS:
        return longest if longest.value >= extent.value else extent
    if structural_equal(longest, extent):
        return longest
    raise KernelError(
        f"two loops of a kernel are bound to {tag}, one of {longest} iterations and one of "
        f"{extent}: they cannot be the same threads",
        loops=[loop.loop_var, first.loop_var],
        hint="give them the same number, or bind one of them to another axis",
    )


def with_pragmas(body: Stmt, loop: For) -> Stmt:
    """What takes the place of a loop, with the pragmas that are annotations of it."""
    for key, value in loop.annotations.items():
        if key.startswith("pragma_") and isinstance(value, (int, IntImm)):
            body = AttrStmt(const(0), key, as_expr(value), body)
    return body


def _require_same_work(outer: For, inner: For) -> None:
    """Refuse a loop whose iterations each thread has to run, as they are about that thread.

    Raises:
        KernelError: for a loop inside of one of its axis that uses the iteration of that one.
    """
    if outer.loop_var in variables_of(inner.body):
        raise KernelError(
            f"loop {inner.loop_var.name} is bound to {tag_of(inner)}, and what it does depends on "
            f"loop {outer.loop_var.name} around it, which is bound to that axis, too: threads "
            "share the iterations of the inner loop, and each would need all of them",
            loops=[inner.loop_var, outer.loop_var],
            hint="bind it to another axis, or not at all",
        )


def _in_order(loop: For) -> For:
    """A loop around kernels, or of one thread, which nothing else runs at the same time."""
    return loop if loop.kind.is_in_order else loop.replace(kind=ForKind.SERIAL)


class _Threads(Rewriter):
    """What one thread does."""

    def __init__(self, axes: dict[str, Axis]) -> None:
        self._axes = axes
        self._inside: list[For] = []

    def For(self, loop: For) -> Stmt:
        if not is_bound(loop):
            changed = loop.map_children(self)
            return _in_order(changed) if loop.kind is ForKind.PARALLEL else changed
        tag = tag_of(loop)
        if tag in VIRTUAL:
            return loop.map_children(self)  # see `virtual_threads`
        axis = self._axes[tag]
        for outer in self._inside:
            if tag_of(outer) == tag and not structural_equal(outer.extent, axis.extent):
                raise KernelError(
                    f"loop {loop.loop_var.name} of {loop.extent} iterations is bound to {tag}, and "
                    f"so is loop {outer.loop_var.name} of {outer.extent} iterations around it: "
                    "some threads would never come to the inner one",
                    loops=[loop.loop_var, outer.loop_var],
                    hint="give them the same number",
                )
            if tag_of(outer) == tag and not is_const_int(axis.extent, 1):
                _require_same_work(outer, loop)
        self._inside.append(loop)
        body = self(loop.body)
        self._inside.pop()
        index: Expr = const(0, axis.var.dtype) if is_const_int(axis.extent, 1) else axis.var
        if not is_const_int(loop.min, 0):
            index = as_expr(index + loop.min)
        if index is not loop.loop_var:
            body = substitute(body, {loop.loop_var: index})
        body = with_pragmas(body, loop)
        if structural_equal(loop.extent, axis.extent):
            return body
        return IfThenElse(axis.var < loop.extent, body)

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        operation = tile_operation_of(stmt)
        if operation is None:
            return stmt.map_children(self)
        return self._once(stmt, "threadIdx.x") if operation.name == "store" else stmt

    def BufferStore(self, store: BufferStore) -> Stmt:
        is_own = owner_of(store.buffer.scope()) in (MemoryOwner.THREAD, MemoryOwner.WARP)
        return store if is_own else self._once(store)

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        return stmt if isinstance(stmt.value, IntImm) else self._once(stmt)

    def _once(self, stmt: Stmt, *together: str) -> Stmt:
        """`stmt`, done by one thread of the axes that it is in no loop of, but for some axes."""
        condition: Expr | None = None
        around = {*together, *(tag_of(loop) for loop in self._inside)}
        for tag, axis in self._axes.items():
            if tag not in around and not is_const_int(axis.extent, 1):
                first = axis.var.equal(const(0, axis.var.dtype))
                condition = first if condition is None else logical_and(condition, first)
        return stmt if condition is None else IfThenElse(condition, stmt)
