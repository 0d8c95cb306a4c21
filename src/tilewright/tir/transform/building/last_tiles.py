"""The last iterations of a loop over tiles, after the loop, or in a branch of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, is_const_int
from tilewright.tir.stmt import Allocate, For, ForKind, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import StatementRewriter, statement_count
from tilewright.tir.transform.building.unguarded import cut_in_two, known_iterations

MOST_STATEMENTS: Final = 32
"""Maximum number of statements of a tile that are copied with it."""

MOST_LAST: Final = 2
"""Maximum number of tiles that are not full, where vectors are filled up with zeros to tiles of a
few of them."""

WORTH_CUTTING: Final = 8
"""Minimum number of iterations without guards in the last tile, to have a loop of their own."""


def parted(stmt: Stmt) -> Stmt:
    """A loop over tiles of which only the last one or two are not full, with those after the loop:
    what is known of one decides most of its guards. In a parallel loop it stays, as a branch."""
    if not isinstance(stmt, For) or stmt.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
        return stmt
    is_parallel = stmt.kind is ForKind.PARALLEL
    if stmt.annotations and not is_parallel:
        return stmt
    if not isinstance(stmt.extent, IntImm) or not is_const_int(stmt.min):
        return stmt
    if not isinstance(stmt.body, IfThenElse) and statement_count(stmt.body) > MOST_STATEMENTS:
        return stmt
    extent, most = stmt.extent.value, 1 if is_parallel else MOST_LAST
    asked = [item for item in _questions(stmt) if extent - most <= item.iterations < extent]
    if is_parallel:  # the second case is that of the last tile alone
        asked = [item for item in asked if item.part is item.branch.condition]
    count = min((item.iterations for item in asked), default=0)
    if not count:
        return stmt
    left, asked = extent - count, [item for item in asked if item.iterations == count]
    known, cut = Iteration({stmt.loop_var: as_expr(stmt.min + count)}), _Cutting()
    if is_parallel:
        knowing = _Choosing(asked, lambda item: item.where_not(lambda other: cut(known(other))))
        return stmt.replace(body=knowing(stmt.body))
    full = _Choosing(asked, _Question.holding)(stmt.body)
    first = stmt.replace(extent=const(count, stmt.extent.dtype), body=full)
    if count == 1:
        first = Iteration({stmt.loop_var: stmt.min})(full)
    body = _Choosing(asked, lambda item: item.other)(stmt.body)
    if left == 1:
        return seq(first, cut(known(body)))
    start = const(count, stmt.extent.dtype)
    rest = stmt.replace(min=as_expr(stmt.min + start), extent=const(left, stmt.extent.dtype))
    return seq(first, Iteration({})(rest.replace(body=body)))


class _Question(NamedTuple):
    """A part of the condition of a branch with two cases, which holds in the first iterations.

    Attributes:
        branch: the branch.
        part: the part.
        iterations: the number of these.
    """

    branch: IfThenElse
    part: Expr
    iterations: int

    @property
    def other(self) -> Stmt:
        """What is left of the branch where the part does not hold."""
        assert self.branch.else_case is not None
        return self.branch.else_case

    def holding(self) -> Stmt:
        """What is left of the branch where the part holds."""
        kept = [part for part in conjuncts(self.branch.condition) if part is not self.part]
        if not kept:
            return self.branch.then_case
        return self.branch.replace(condition=functools.reduce(logical_and, kept))

    def where_not(self, change: Callable[[Stmt], Stmt]) -> Stmt:
        """The branch with a change where the condition does not hold."""
        return self.branch.replace(else_case=change(self.other))


def _questions(loop: For) -> Iterator[_Question]:
    """The parts of the conditions of branches in a loop that hold in its first iterations."""
    for branch in _branches(loop.body):
        parts = [(part, known_iterations(part, loop)) for part in conjuncts(branch.condition)]
        found = [_Question(branch, part, n) for part, n in parts if n is not None]
        if len(found) == 1:
            yield found[0]


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

    def __init__(self, questions: Iterable[_Question], choose: Callable[[_Question], Stmt]) -> None:
        self._questions = {id(item.branch): item for item in questions}
        self._choose = choose

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        found = self._questions.get(id(stmt))
        return stmt if found is None else self._choose(found)


class _Cutting(StatementRewriter):
    """The last tile with its loops cut in two: iterations that need no guards, and the rest."""

    def For(self, loop: For) -> Stmt:
        cut = cut_in_two(loop, WORTH_CUTTING)
        return loop.map_children(self) if cut is None else seq(*cut)
