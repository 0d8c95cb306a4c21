"""Branches whose condition always has the same answer where they are.

Unrolling gives each copy of a branch a condition of its own, and the ranges of the loops around
decide many of them: in tiles of 64 columns that begin below 1000, only the last of four vectors can
lie outside of 1000 columns.
"""

from __future__ import annotations

from tilewright.ir.expr import IntImm
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Evaluate, For, IfThenElse, SeqStmt, Stmt, nop, seq
from tilewright.tir.transform.ranges import Ranges
from tilewright.tir.transform.statements import StatementRewriter, statements


def drop_known_branches(func: PrimFunc) -> PrimFunc:
    """`func` without branches that are always, or never, taken."""
    if not any(isinstance(stmt, IfThenElse) for stmt in statements(func.body)):
        return func
    body = _Dropping()(func.body)
    return func if body is func.body else func.with_body(body)


class _Dropping(StatementRewriter):
    def __init__(self) -> None:
        self._ranges = Ranges()

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        return loop.map_children(self)

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
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)
