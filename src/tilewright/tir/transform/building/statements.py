"""Visiting statements without the expressions in them, which are most of a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.ir.rewrite import Rewriter
from tilewright.tir.stmt import BufferStore, Evaluate, SeqStmt, Stmt, seq


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
