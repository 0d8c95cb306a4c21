"""Statements that do nothing: branches that are never taken, and loops that are empty.

Unrolling gives each copy of a branch a condition of its own, and the ranges of the loops around
decide many of them: in tiles of 64 columns that begin below 1000, only the last of four vectors can
lie outside of 1000 columns.
"""

from __future__ import annotations

from tilewright.ir.expr import IntImm, is_const_int
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Evaluate, For, IfThenElse, SeqStmt, Stmt, nop, seq
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.building.statements import StatementRewriter, statements


def remove_no_ops(func: PrimFunc) -> PrimFunc:
    """`func` without branches whose condition is known, and without loops that do nothing."""
    if not any(isinstance(stmt, IfThenElse) or _is_nop(stmt) for stmt in statements(func.body)):
        return func
    body = _Removing()(func.body)
    return func if body is func.body else func.with_body(body)


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
