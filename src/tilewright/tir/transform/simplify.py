"""Simpler expressions and statements, under what the loops and branches around say."""

from __future__ import annotations

from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import logical_not
from tilewright.ir.expr import Call, Expr, IntImm, Let, Var, is_const_int
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AssertStmt,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    nop,
    seq,
)
from tilewright.tir.transform.analysis.affine import expand
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import StatementRewriter, statements


def simplify(func: PrimFunc) -> PrimFunc:
    """`func` with simplified expressions, and without branches whose condition is constant then."""
    return func.with_body(_Simplify()(func.body))


class _Simplify(Rewriter):
    def __init__(self) -> None:
        self._analyzer = Analyzer()

    def __call__(self, node: Any) -> Any:
        return self._analyzer.simplify(node) if isinstance(node, Expr) else super().__call__(node)

    def For(self, loop: For) -> Stmt:
        self._analyzer.bind_range(loop.loop_var, loop.min, loop.extent)
        return loop.map_children(self)

    def IterVar(self, iterator: IterVar) -> IterVar:
        if iterator.dom is not None:
            self._analyzer.bind_range(iterator.var, iterator.dom.min, iterator.dom.extent)
        return iterator.map_children(self)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        condition = self(stmt.condition)
        if isinstance(condition, IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return nop() if taken is None else self(taken)
        then_case = self._under(condition, stmt.then_case)
        else_case = stmt.else_case
        if else_case is not None:
            else_case = self._under(logical_not(condition), else_case)
        old = (stmt.condition, stmt.then_case, stmt.else_case)
        if all(a is b for a, b in zip(old, (condition, then_case, else_case), strict=True)):
            return stmt
        return stmt.replace(condition=condition, then_case=then_case, else_case=else_case)

    def _under(self, condition: Expr, stmt: Stmt) -> Stmt:
        """A statement that runs only if `condition` holds."""
        with self._analyzer.constraint(condition):
            return self(stmt)


def remove_no_ops(func: PrimFunc) -> PrimFunc:
    """`func` without branches whose condition is known, and without loops that do nothing.

    Unrolling gives each copy of a branch a condition of its own, and the ranges of the loops around
    decide many of them: in tiles of 64 columns that begin below 1000, only the last of four vectors
    can lie outside of 1000 columns.
    """
    if not any(isinstance(stmt, IfThenElse) or _is_nop(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_Removing()(func.body))


class _Removing(StatementRewriter):
    def __init__(self) -> None:
        self._ranges = Ranges()

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        loop = loop.map_children(self)
        return nop() if _is_nop(loop) else loop

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        parts = [self(part) for part in stmt.seq]
        if all(new is old and not _is_nop(old) for new, old in zip(parts, stmt.seq, strict=True)):
            return stmt
        return seq(*(part for part in parts if not _is_nop(part)))

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        condition = self._ranges.simplify_condition(stmt.condition)
        known = self._ranges.decide(condition)
        if known is None:
            stmt = stmt.map_children(self)
            return stmt if condition is stmt.condition else stmt.replace(condition=condition)
        taken = stmt.then_case if known else stmt.else_case
        return nop() if taken is None else self(taken)


def _is_nop(stmt: Stmt) -> bool:
    if isinstance(stmt, For):
        return is_const_int(stmt.extent, 0) or _is_nop(stmt.body)
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def inline_lets(func: PrimFunc) -> PrimFunc:
    """`func` without variables for integer expressions that load nothing, and without `likely`."""
    return func.with_body(_InlineLets({})(func.body))


def _is_index(value: Expr) -> bool:
    """Whether `value` is integer arithmetic over variables only."""
    return value.dtype.is_integral and not any(
        isinstance(node, (BufferLoad, Call)) for node in walk(value)
    )


class _InlineLets(Iteration):
    def LetStmt(self, stmt: LetStmt) -> Stmt:
        value = self(stmt.value)
        if _is_index(value):
            self._values[stmt.var] = expand(value)
            return self(stmt.body)
        body = self(stmt.body)
        if value is stmt.value and body is stmt.body:
            return stmt
        return stmt.replace(value=value, body=body)

    def Let(self, expr: Let) -> Expr:
        value = self(expr.value)
        if _is_index(value):
            self._values[expr.var] = expand(value)
            return self(expr.body)
        return expr.replace(value=value, body=self(expr.body))

    def _fresh(self, var: Var) -> Var:
        return var  # nothing is copied

    def Call(self, call: Call) -> Expr:
        if isinstance(call.op, Op) and call.op.name == "tir.likely":
            return self(call.args[0])
        return call.map_children(self)


def drop_assertions(func: PrimFunc) -> PrimFunc:
    """`func` without the assertions that the program states."""
    return func.with_body(_WithoutAssertions()(func.body))


class _WithoutAssertions(Rewriter):
    def AssertStmt(self, stmt: AssertStmt) -> Stmt:
        return self(stmt.body)
