"""Visiting statements without the expressions in them, which are most of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.ir.expr import Expr
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.structural import structural_equal
from tilewright.tir.stmt import BufferStore, Evaluate, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.affine import Key, structural_key


def statements(root: Stmt) -> Iterator[Stmt]:
    """All statements below `root` and `root` itself, parents first."""
    stack = [root]
    while stack:
        stmt = stack.pop()
        yield stmt
        if stmt.__class__ is not BufferStore and stmt.__class__ is not Evaluate:
            stack.extend([child for child in reversed(stmt.children()) if isinstance(child, Stmt)])


def statement_count(root: Stmt) -> int:
    """How many statements that do something `root` has."""
    return sum(stmt.__class__ in (BufferStore, Evaluate) for stmt in statements(root))


def resequenced(stmt: SeqStmt, parts: Sequence[Stmt]) -> Stmt:
    """`parts` in the place of those of `stmt`; `stmt` itself if they are the same."""
    same = len(parts) == len(stmt.seq)
    if same and all(new is old for new, old in zip(parts, stmt.seq, strict=True)):
        return stmt
    return seq(*parts)


class StatementRewriter(Rewriter):
    """A rewriter of statements, which leaves the expressions of stores alone."""

    def BufferStore(self, store: BufferStore) -> Stmt:
        return store

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        return stmt


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
