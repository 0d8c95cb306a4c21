"""Barriers move out of branches.

All threads of a block take the same branch around a barrier, which OpenCL allows. Compilers that
run a block of threads as loops of one CPU thread, such as PoCL, find the loops by the barriers, and
get the branches wrong. So a branch is taken apart at its barriers, and its condition asked again::

    if holds:                              let a = if_then_else(holds, B[i], 0)
        let a = B[i]                       barrier
        barrier                       ->   if holds:
        B[i] = a + 1                           B[i] = a + 1
"""

from __future__ import annotations

from tilewright.ir.arithmetic import logical_and, logical_not
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, Var
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.control import if_then_else
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.transform.building.statements import StatementRewriter, resequenced, statements
from tilewright.tir.transform.device.barriers import is_barrier


def free_barriers(func: PrimFunc) -> PrimFunc:
    """`func` with all barriers outside of branches; those of loops stay in them."""
    return func.with_body(_Branches()(func.body))


def _has_barrier(root: Stmt) -> bool:
    return any(isinstance(s, Evaluate) and is_barrier(s.value) for s in statements(root))


class _Branches(StatementRewriter):
    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        return _taken_apart(stmt).map_children(self) if _has_barrier(stmt) else stmt


def _taken_apart(stmt: IfThenElse, outer: Expr | None = None) -> Stmt:
    """What a branch does, under another condition if there is one."""

    def both(condition: Expr) -> Expr:
        return condition if outer is None else logical_and(outer, condition)

    holds = Var("holds", BOOL)
    parts = [_under(holds, stmt.then_case)]
    if stmt.else_case is not None:
        parts.append(_under(both(logical_not(holds)), stmt.else_case))
    return LetStmt(holds, both(stmt.condition), seq(*parts))


def _under(holds: Expr, stmt: Stmt) -> Stmt:
    """What a statement does where a condition holds, with its barriers in any case."""
    if not _has_barrier(stmt):
        return IfThenElse(holds, stmt)
    if isinstance(stmt, SeqStmt):
        return resequenced(stmt, [_under(holds, part) for part in stmt.seq])
    if isinstance(stmt, LetStmt):
        value = stmt.value
        if not value.dtype.is_handle:
            value = if_then_else(holds, value, const(0, value.dtype))
        return stmt.replace(value=value, body=_under(holds, stmt.body))
    if isinstance(stmt, IfThenElse):
        return _taken_apart(stmt, holds)
    if isinstance(stmt, For):
        extent = if_then_else(holds, stmt.extent, const(0, stmt.extent.dtype))
        return stmt.replace(extent=extent)
    if isinstance(stmt, While):
        return stmt.replace(condition=logical_and(holds, stmt.condition))
    if isinstance(stmt, (Allocate, AttrStmt, DeclBuffer)):
        return stmt.replace(body=_under(holds, stmt.body))
    return stmt
