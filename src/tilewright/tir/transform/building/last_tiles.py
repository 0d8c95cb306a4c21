"""The last iteration of a loop over tiles, after the loop, or in a branch of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import IntImm, is_const_int
from tilewright.tir.stmt import Allocate, For, ForKind, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import StatementRewriter, statement_count
from tilewright.tir.transform.building.unguarded import cut_in_two, known_iterations

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
    known, cut = Iteration({stmt.loop_var: as_expr(stmt.min + count)}), _Cutting()
    if is_parallel:
        knowing = _Choosing(
            asked, lambda branch, other: branch.replace(else_case=cut(known(other)))
        )
        return stmt.replace(body=knowing(stmt.body))
    full = _Choosing(asked, lambda branch, _: branch.then_case)(stmt.body)
    first = stmt.replace(extent=const(count, stmt.extent.dtype), body=full)
    if count == 1:
        first = Iteration({stmt.loop_var: stmt.min})(full)
    return seq(first, cut(known(_Choosing(asked, lambda _, other: other)(stmt.body))))


def _branches(body: Stmt) -> Iterator[IfThenElse]:
    """The branches with two cases that each iteration of a loop takes once."""
    if isinstance(body, SeqStmt):
        for part in body.seq:
            yield from _branches(part)
    elif isinstance(body, Allocate):
        yield from _branches(body.body)
    elif isinstance(body, IfThenElse) and body.else_case is not None:
        yield body


class _Choosing(StatementRewriter):
    """Something else in place of some branches."""

    def __init__(
        self, branches: Iterable[IfThenElse], choose: Callable[[IfThenElse, Stmt], Stmt]
    ) -> None:
        """Choose by `choose`, from a branch and its second case."""
        self._branches = {id(branch) for branch in branches}
        self._choose = choose

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        if id(stmt) not in self._branches:
            return stmt
        assert stmt.else_case is not None
        return self._choose(stmt, stmt.else_case)


class _Cutting(StatementRewriter):
    """The last tile with its loops cut in two: iterations that need no guards, and the rest."""

    def For(self, loop: For) -> Stmt:
        cut = cut_in_two(loop, WORTH_CUTTING)
        return loop.map_children(self) if cut is None else seq(*cut)
