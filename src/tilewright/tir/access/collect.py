"""One walk over a program finds its accesses, for all who ask what is read and written where."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tilewright.ir.expr import And, Call, Expr, Let, Or, Var
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import Visitor
from tilewright.tir.access.access import Access, AccessKind, Condition, Definition
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AttrStmt,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    While,
)
from tilewright.tir.tile_operations import tile_operation_of


class AccessSummary(NamedTuple):
    """What a piece of a program does with memory.

    Attributes:
        accesses: loads, stores and the like, in the order in which they happen.
        bound: variables that loops and definitions in it bind.
        allocated: memory that it allocates.
        calls: what may access memory by other means, such as functions of other languages.
    """

    accesses: list[Access]
    bound: set[Var]
    allocated: set[Var]
    calls: list[Call]


def collect_accesses(
    root: Node, *, is_plain: Callable[[BufferLoad | BufferStore], bool] | None = None
) -> AccessSummary:
    """The accesses of a program without blocks, or of a part of it.

    Args:
        root: a statement or an expression.
        is_plain: whether the indices of an access are known to access nothing, so that there is no
            need to look at them.
    """
    collector = _Collector(is_plain)
    collector.visit(root)
    return collector.summary


class _Collector(Visitor):
    def __init__(self, is_plain: Callable[[BufferLoad | BufferStore], bool] | None) -> None:
        self.summary = AccessSummary([], set(), set(), [])
        self._is_plain = is_plain
        self._definitions: tuple[Definition, ...] = ()
        self._conditions: tuple[Condition, ...] = ()
        self._is_certain = True
        self._by_warp = False
        self._store: BufferStore | None = None

    def _add(
        self,
        node: BufferLoad | BufferStore | Call,
        kind: AccessKind,
        buffer: Buffer,
        indices: tuple[Expr, ...],
    ) -> None:
        self.summary.accesses.append(
            Access(
                node,
                kind,
                buffer,
                indices,
                self._definitions,
                self._conditions,
                self._is_certain,
                self._by_warp,
                self._store,
            )
        )

    # --- statements -------------------------------------------------------------------------

    def BufferStore(self, store: BufferStore) -> None:
        outer, self._store = self._store, store
        if self._is_plain is not None and self._is_plain(store):
            self.visit(store.value)
        else:
            self.visit_children(store)
        self._add(store, AccessKind.WRITE, store.buffer, store.indices)
        self._store = outer

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self._within(loop, loop.loop_var, loop.body)

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.visit(let.value)
        self._within(let, let.var, let.body)

    Let = LetStmt

    def _within(self, node: Definition, var: Var, body: Node) -> None:
        self.summary.bound.add(var)
        outer, self._definitions = self._definitions, (*self._definitions, node)
        self.visit(body)
        self._definitions = outer

    def While(self, loop: While) -> None:
        outer, self._is_certain = self._is_certain, False
        self.visit_children(loop)
        self._is_certain = outer

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self._where((stmt.condition, False), stmt.then_case)
        if stmt.else_case is not None:
            self._where((stmt.condition, True), stmt.else_case)

    def Allocate(self, stmt: Allocate | AllocateConst) -> None:
        self.summary.allocated.add(stmt.buffer_var)
        self.visit_children(stmt)

    AllocateConst = Allocate

    def AttrStmt(self, stmt: AttrStmt) -> None:
        outer, self._by_warp = self._by_warp, tile_operation_of(stmt) is not None
        self.visit_children(stmt)
        self._by_warp = outer

    def Prefetch(self, stmt: Prefetch) -> None:
        """A hint, which accesses nothing."""

    # --- expressions ------------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> None:
        if self._is_plain is None or not self._is_plain(load):
            self.visit_children(load)
        self._add(load, AccessKind.READ, load.buffer, load.indices)

    def And(self, expr: And | Or) -> None:
        self.visit(expr.a)
        self._where((expr.a, isinstance(expr, Or)), expr.b)

    Or = And

    def Call(self, call: Call) -> None:
        hook = _CALLS.get(getattr(call.op, "name", ""))
        if hook is not None:
            hook(self, call)
            return
        if not isinstance(call.op, Op) or call.op.effect >= CallEffectKind.READ_STATE:
            self.summary.calls.append(call)
        self.visit_children(call)

    def _choice(self, call: Call) -> None:
        condition, yes, no = call.args
        self.visit(condition)
        self._where((condition, False), yes)
        self._where((condition, True), no)

    def _address(self, call: Call) -> None:
        element = call.args[0]
        self.visit_children(element)
        if isinstance(element, BufferLoad):
            self._add(element, AccessKind.ADDRESS, element.buffer, element.indices)

    def _atomic_addition(self, call: Call) -> None:
        element: BufferLoad = call.args[0].args[0]  # type: ignore[attr-defined]
        for part in (*element.indices, call.args[1]):
            self.visit(part)
        self._add(element, AccessKind.UPDATE, element.buffer, element.indices)
        self.summary.calls.append(call)

    def _loaded_matrices(self, call: Call) -> None:
        """Somewhere in the memory that a call has a pointer to, a warp reads."""
        pointer = call.args[5]
        if isinstance(pointer, Var):
            self._add(call, AccessKind.READ, decl_buffer((), call.dtype, data=pointer), ())
        self.visit_children(call)
        self.summary.calls.append(call)

    def _hint(self, call: Call) -> None:
        """It names places, but accesses nothing."""

    def _where(self, condition: Condition, body: Node) -> None:
        outer, self._conditions = self._conditions, (*self._conditions, condition)
        self.visit(body)
        self._conditions = outer


_CALLS = {
    "tir.if_then_else": _Collector._choice,
    "tir.address_of": _Collector._address,
    "tir.atomic_add": _Collector._atomic_addition,
    "tir.ptx_ldmatrix": _Collector._loaded_matrices,
    "tir.prefetch_address": _Collector._hint,
}
