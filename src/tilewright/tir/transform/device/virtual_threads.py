"""One thread of a device does the work of its virtual threads, statement by statement.

Before::                                        After::

    for v in thread_binding(2, "vthread"):          allocate local[2, 4]
        allocate local[4]                           for k in range(8):
        for k in range(8):                              shared[...] = A[...]
            shared[...] = A[...]                        for v in unroll(2):
            local[...] += shared[v * 4 + ...]               local[v, ...] += shared[v * 4 + ...]

Virtual threads are independent, so that a statement of all of them may run before the next one;
those that are known not to be run one after the other.
What does not depend on the virtual thread is done once for all of them; memory in which they have
something of their own gets a dimension. This is how threads with several rows or columns apart from
each other avoid conflicts of memory banks, see the paper on TVM (OSDI 2018), section 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.access import collect_accesses
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import BufferRewriter, substitute
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.dependent_stores import dependent_stores, depends
from tilewright.tir.transform.device.thread_axes import (
    VIRTUAL,
    Axis,
    axes_and_body,
    is_axis,
    is_bound,
    tag_of,
    with_body,
)
from tilewright.tir.transform.device.thread_conflicts import ThreadConflicts


def inject_virtual_threads(func: PrimFunc) -> PrimFunc:
    """`func` without loops over virtual threads."""
    if not any(is_virtual(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_Injection()(func.body))


def is_virtual(stmt: Stmt) -> bool:
    """Whether `stmt` is a loop over virtual threads."""
    return isinstance(stmt, For) and is_bound(stmt) and tag_of(stmt) in VIRTUAL


class _Injection(Rewriter):
    def __init__(self) -> None:
        self._axes: tuple[Axis, ...] = ()

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if not is_axis(stmt):
            return stmt.map_children(self)
        axes, body = axes_and_body(stmt)
        self._axes = tuple(axes)
        changed = with_body(stmt, self(body))
        self._axes = ()
        return changed

    def For(self, loop: For) -> Stmt:
        virtual = loop
        loop = loop.map_children(self)  # inner ones first
        if not is_virtual(loop):
            return loop
        serial = loop.replace(kind=ForKind.UNROLLED, thread_binding=None)
        stores = dependent_stores(serial)
        if not all(_is_compact(serial, memory) for memory in stores.own):
            return serial
        axis = Axis(tag_of(virtual), serial.loop_var, serial.extent)
        if _meet(serial, stores.others, axis, self._axes):
            return serial
        body = _Widened(stores.own, serial)(serial.body) if stores.own else serial.body
        return _inside(body, serial, stores.own)


def _meet(loop: For, memory: frozenset[Var], axis: Axis, axes: Sequence[Axis]) -> bool:
    """Whether virtual threads are known to access the same element, one of them writing.

    Args:
        loop: over them.
        memory: the memory that is looked at.
        axis: of the virtual threads.
        axes: those of the kernel.
    """
    found = [a for a in collect_accesses(loop.body).accesses if a.memory in memory]
    conflicts = ThreadConflicts((*axes, axis))
    return any(
        conflicts.certainly_along(axis.tag, first, second)
        for number, first in enumerate(found)
        for second in found[number:]
    )


def _is_compact(loop: For, memory: Var) -> bool:
    """Whether memory is only accessed by compact buffers, which can get a dimension."""
    for node in walk(loop.body):
        if node is memory:
            return False  # a pointer to all of it
        if (
            isinstance(node, (BufferLoad, BufferStore, DeclBuffer))
            and node.buffer.data is memory
            and not node.buffer.is_compact()
        ):
            return False
    return True


class _Widened(BufferRewriter):
    """Gives memory a first dimension, the virtual thread."""

    def __init__(self, own: frozenset[Var], loop: For) -> None:
        BufferRewriter.__init__(self)
        self._own, self._loop = own, loop

    def map_buffer(self, buffer: Buffer) -> Buffer:
        if buffer.data not in self._own:
            return buffer
        return buffer.replace(shape=(self._loop.extent, *buffer.shape))

    def Allocate(self, stmt: Allocate) -> Stmt:
        changed = stmt.map_children(self)
        if stmt.buffer_var not in self._own:
            return changed
        return changed.replace(extents=(self._loop.extent, *stmt.extents))

    def BufferLoad(self, load: BufferLoad) -> Expr:
        return self._access(load)

    def BufferStore(self, store: BufferStore) -> Stmt:
        return self._access(store)

    def _access(self, access: Any) -> Any:
        changed = access.map_children(self)
        if access.buffer.data not in self._own:
            return changed
        indices = (self._loop.loop_var, *changed.indices)
        return changed.replace(buffer=self.buffer(access.buffer), indices=indices)


def _inside(stmt: Stmt, loop: For, own: frozenset[Var]) -> Stmt:
    """`stmt` for all virtual threads, with the loop over them as far inside as possible."""
    if not depends(stmt, loop, own):
        return stmt
    if isinstance(stmt, SeqStmt):
        return seq(*(_inside(child, loop, own) for child in stmt.seq))
    if isinstance(stmt, (Allocate, DeclBuffer)) or (
        isinstance(stmt, (LetStmt, AttrStmt)) and not depends(stmt.value, loop, own)
    ):
        return stmt.replace(body=_inside(stmt.body, loop, own))
    if isinstance(stmt, For) and not any(
        depends(bound, loop, own) for bound in (stmt.min, stmt.extent)
    ):
        return stmt.replace(body=_inside(stmt.body, loop, own))
    if isinstance(stmt, IfThenElse) and not depends(stmt.condition, loop, own):
        other = stmt.else_case
        return stmt.replace(
            then_case=_inside(stmt.then_case, loop, own),
            else_case=None if other is None else _inside(other, loop, own),
        )
    var = Var(loop.loop_var.name, loop.loop_var.dtype)
    return loop.replace(loop_var=var, body=substitute(stmt, {loop.loop_var: var}))
