"""The last iteration of a loop over tiles, after the loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import LE, LT, Expr, IntImm, is_const_int
from tilewright.tir.stmt import Allocate, For, ForKind, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.affine import difference, split
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import StatementRewriter, statement_count

MOST_STATEMENTS: Final = 32
"""Maximum number of statements of a tile that are copied with it."""


def parted(stmt: Stmt) -> Stmt:
    """A loop over tiles of which only the last one is not full, with that one after the loop: what
    is known of it decides most of its guards."""
    if not isinstance(stmt, For) or stmt.kind is not ForKind.SERIAL or stmt.annotations:
        return stmt
    if not isinstance(stmt.extent, IntImm) or not is_const_int(stmt.min):
        return stmt
    if not isinstance(stmt.body, IfThenElse) and statement_count(stmt.body) > MOST_STATEMENTS:
        return stmt
    count = stmt.extent.value - 1
    asked = [b for b in _branches(stmt.body) if known_iterations(b.condition, stmt) == count]
    if not asked or count == 0:
        return stmt
    first = stmt.replace(
        extent=const(count, stmt.extent.dtype), body=_Taking(asked, True)(stmt.body)
    )
    if count == 1:
        first = Iteration({stmt.loop_var: stmt.min})(first.body)
    last = _Taking(asked, False)(stmt.body)
    return seq(first, Iteration({stmt.loop_var: as_expr(stmt.min + count)})(last))


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


def known_iterations(condition: Expr, loop: For) -> int | None:
    """For how many first iterations of `loop` the condition, on its variable alone, holds."""
    if not isinstance(condition, (LT, LE)):
        return None
    form = difference(condition.a, condition.b)
    parts = split(form, loop.loop_var)
    if parts is None or not parts[0].is_constant() or not parts[1].is_constant():
        return None
    step, start = parts[0].constant, parts[1].constant
    if step <= 0:
        return None
    room = -start - (1 if isinstance(condition, LT) else 0)
    assert isinstance(loop.min, IntImm)
    return max(room // step + 1 - loop.min.value, 0)
