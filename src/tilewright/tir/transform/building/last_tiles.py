"""The last iteration of a loop over tiles, after the loop, or in a branch of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import IntImm, is_const_int
from tilewright.tir.stmt import Allocate, For, ForKind, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import StatementRewriter, statement_count
from tilewright.tir.transform.building.unguarded import (
    known_iterations,
    unguarded_iterations,
    without_guards,
)

MOST_STATEMENTS: Final = 32
"""Maximum number of statements of a tile that are copied with it."""

WORTH_CUTTING: Final = 8
"""Minimum number of iterations without guards in the last tile, to have a loop of their own."""


def parted(stmt: Stmt) -> Stmt:
    """A loop over tiles of which only the last one is not full, with that one after the loop: what
    is known of it decides most of its guards. In a parallel loop it stays, as a branch."""
    if not isinstance(stmt, For) or stmt.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
        return stmt
    is_parallel = stmt.kind is ForKind.PARALLEL
    if stmt.annotations and not is_parallel:
        return stmt
    if not isinstance(stmt.extent, IntImm) or not is_const_int(stmt.min):
        return stmt
    if not isinstance(stmt.body, IfThenElse) and statement_count(stmt.body) > MOST_STATEMENTS:
        return stmt
    count = stmt.extent.value - 1
    asked = [b for b in _branches(stmt.body) if known_iterations(b.condition, stmt) == count]
    if not asked or count == 0:
        return stmt
    known = Iteration({stmt.loop_var: as_expr(stmt.min + count)})
    if is_parallel:
        return stmt.replace(body=_Knowing(asked, known)(stmt.body))
    first = stmt.replace(
        extent=const(count, stmt.extent.dtype), body=_Taking(asked, True)(stmt.body)
    )
    if count == 1:
        first = Iteration({stmt.loop_var: stmt.min})(first.body)
    return seq(first, _cut(known(_Taking(asked, False)(stmt.body))))


def _branches(body: Stmt) -> Iterator[IfThenElse]:
    """The branches with two cases that each iteration of a loop takes once."""
    if isinstance(body, SeqStmt):
        for part in body.seq:
            yield from _branches(part)
    elif isinstance(body, Allocate):
        yield from _branches(body.body)
    elif isinstance(body, IfThenElse) and body.else_case is not None:
        yield body


class _Taking(StatementRewriter):
    """The first case of some branches, or the other one."""

    def __init__(self, branches: Iterable[IfThenElse], first: bool) -> None:
        self._branches = {id(branch) for branch in branches}
        self._first = first

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        if id(stmt) not in self._branches:
            return stmt
        assert stmt.else_case is not None
        return stmt.then_case if self._first else stmt.else_case


class _Knowing(StatementRewriter):
    """The other case of some branches, of which it is known in which iteration it runs."""

    def __init__(self, branches: Iterable[IfThenElse], known: Iteration) -> None:
        self._branches = {id(branch) for branch in branches}
        self._known = known

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        if id(stmt) not in self._branches:
            return stmt
        assert stmt.else_case is not None
        return stmt.replace(else_case=_cut(self._known(stmt.else_case)))


def _cut(tile: Stmt) -> Stmt:
    """The last tile with its loops cut in two: iterations that need no guards, and the rest."""
    return _Cutting()(tile)


class _Cutting(StatementRewriter):
    def For(self, loop: For) -> Stmt:
        cut = unguarded_iterations(loop)
        if cut is None or cut[0] < WORTH_CUTTING:
            return loop.map_children(self)
        count, guards = cut
        free = loop.replace(
            extent=const(count, loop.extent.dtype), body=without_guards(loop.body, guards)
        )
        start, left = as_expr(loop.min + count), as_expr(loop.extent - count)
        return seq(free, Iteration({})(loop.replace(min=start, extent=left)))
