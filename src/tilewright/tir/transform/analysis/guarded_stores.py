"""Statements that are nothing but stores, each under conditions."""

from __future__ import annotations

from tilewright.ir.expr import Expr
from tilewright.ir.structural import structural_equal
from tilewright.tir.stmt import BufferStore, IfThenElse, SeqStmt, Stmt
from tilewright.tir.transform.analysis.affine import Key, structural_key

Conditions = tuple[Expr, ...]
"""Conditions that must all hold, in the order in which they are asked."""


def guarded_stores(stmt: Stmt) -> list[tuple[Conditions, BufferStore]] | None:
    """The stores that `stmt` consists of, in order; None if it does something else as well."""
    found: list[tuple[Conditions, BufferStore]] = []
    return found if _collect(stmt, (), found) else None


def _collect(
    stmt: Stmt, conditions: Conditions, found: list[tuple[Conditions, BufferStore]]
) -> bool:
    if isinstance(stmt, BufferStore):
        found.append((conditions, stmt))
        return True
    if isinstance(stmt, SeqStmt):
        return all(_collect(part, conditions, found) for part in stmt.seq)
    if isinstance(stmt, IfThenElse) and stmt.else_case is None:
        return _collect(stmt.then_case, (*conditions, stmt.condition), found)
    return False


def keys_of(conditions: Conditions) -> tuple[Key, ...]:
    """What is equal for conditions that are written alike."""
    return tuple(map(structural_key, conditions))


def same_conditions(some: Conditions, others: Conditions) -> bool:
    """Whether conditions are written alike. Their keys must not be compared: a variable that is
    compared with another one is an expression."""
    return structural_equal(some, others)
