"""Visiting a program in the order in which it runs, with what is known at each place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import logical_not
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import NEGATED, Call, CompareExpr, Expr, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import Visitor, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import AttrStmt, For, IfThenElse, LetStmt, Stmt
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.ranges import conjuncts, without_likely


class Loop(NamedTuple):
    """A variable that runs over ``minimum <= var <= last``, `extent` values."""

    var: Var
    minimum: Expr
    extent: Expr
    last: Expr
    in_order: bool
    """Whether one iteration is done when the next one begins."""
    axis: str = ""
    """The axis of a device that it is bound to, such as ``"threadIdx.x"``."""


class ScopedVisitor(Visitor):
    """Visits loops over buffers, without blocks; subclasses say what to do with accesses.

    Attributes:
        analyzer: knows the ranges of the loops that have been entered.
        loops: the loops around the current place, outermost first.
        conditions: what holds at the current place, variables of `let` replaced.
        unknown: variables of `let` around the current place whose values are not known.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.loops: list[Loop] = []
        self.conditions: list[Expr] = []
        self.unknown: list[Var] = []
        self._values: dict[Var, Expr] = {}

    def resolved(self, expr: Expr) -> Expr:
        """`expr` in terms of loop variables, without those of `let` where that is possible."""
        return substitute(expr, self._values) if self._values else expr

    # --- what subclasses may want to know --------------------------------------------------

    def visit_body(self, loop: Loop, body: Stmt) -> None:
        """Visit the body of a loop, which is among `loops` by now."""
        del loop
        self.visit(body)

    def visit_branches(self, condition: Expr, then_case: Node, else_case: Node | None) -> None:
        """Visit what runs if `condition` holds, and what runs if not."""
        with self.assuming(condition):
            self.visit(then_case)
        if else_case is not None:
            with self.assuming(negation(condition)):
                self.visit(else_case)

    # --- scopes -----------------------------------------------------------------------------

    @contextmanager
    def assuming(self, condition: Expr) -> Iterator[None]:
        """Within the scope, `condition` holds."""
        count = len(self.conditions)
        self.conditions += (without_likely(part) for part in conjuncts(condition))
        yield
        del self.conditions[count:]

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        axis = "" if loop.thread_binding is None else loop.thread_binding.thread_tag
        self._inside(loop.loop_var, loop.min, loop.extent, loop.body, loop.kind.is_in_order, axis)

    def AttrStmt(self, stmt: AttrStmt) -> None:
        self.visit(stmt.value)
        target = stmt.node
        if isinstance(target, IterVar) and not any(loop.var is target.var for loop in self.loops):
            zero = const(0, target.var.dtype)
            self._inside(target.var, zero, stmt.value, stmt.body, False, target.thread_tag)
        else:
            self.visit(stmt.body)

    def _inside(
        self, var: Var, minimum: Expr, extent: Expr, body: Stmt, in_order: bool, axis: str
    ) -> None:
        minimum, extent = self.resolved(minimum), self.resolved(extent)
        loop = Loop(var, minimum, extent, as_expr(minimum + extent - 1), in_order, axis)
        self.analyzer.bind_range(loop.var, loop.minimum, loop.extent)
        self.loops.append(loop)
        self.visit_body(loop, body)
        self.loops.pop()

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.visit(let.value)
        value = self.resolved(let.value)
        if is_fixed(value) and not value.dtype.is_handle:
            self._values[let.var] = value
            self.visit(let.body)
            return
        self._values.pop(let.var, None)
        self.unknown.append(let.var)
        self.visit(let.body)
        self.unknown.pop()

    Let = LetStmt

    def IfThenElse(self, stmt: IfThenElse) -> None:
        self.visit(stmt.condition)
        self.visit_branches(self.resolved(stmt.condition), stmt.then_case, stmt.else_case)

    def Call(self, call: Call) -> None:
        if isinstance(call.op, Op) and call.op.name == "tir.if_then_else":
            condition, then_case, else_case = call.args
            self.visit(condition)
            self.visit_branches(self.resolved(condition), then_case, else_case)
        else:
            self.visit_children(call)


def is_thread_of_block(axis: str) -> bool:
    """Whether an axis is one of the threads of a block, or of virtual ones."""
    return axis.startswith(("threadIdx", "vthread", "cthread"))


def negation(condition: Expr) -> Expr:
    """The opposite of `condition`: of a comparison, a comparison."""
    condition = without_likely(condition)
    if isinstance(condition, CompareExpr) and condition.a.dtype.is_int:
        return NEGATED[type(condition)](condition.a, condition.b)
    return logical_not(condition)


def is_fixed(expr: Expr) -> bool:
    """Whether the value depends on variables only: it neither reads memory nor has effects."""
    return not any(
        isinstance(node, BufferLoad) or (isinstance(node, Call) and not _is_pure(node))
        for node in walk(expr)
    )


def _is_pure(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.effect <= CallEffectKind.PURE
