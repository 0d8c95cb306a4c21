"""Iterations of a loop in which guards always hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import LE, LT, Expr, IntImm, is_const_int
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.stmt import For, ForKind, IfThenElse, Stmt
from tilewright.tir.transform.analysis.affine import difference, split
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.analysis.tile_guards import Guard, guards_in
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import statement_count

MAX_STATEMENTS: Final = 64
"""Nests with more statements than this are not doubled."""


def cut_in_two(loop: For, least: int = 1) -> tuple[For, Stmt] | None:
    """The first iterations of a serial loop, which have no need of some guards, and the others, as
    a loop unless there is one; None if these are all, or the first ones are fewer than `least`."""
    if loop.kind is not ForKind.SERIAL or not isinstance(loop.extent, IntImm):
        return None
    if not is_const_int(loop.min) or statement_count(loop) > MAX_STATEMENTS:
        return None
    count, guards = loop.extent.value, []
    for guard in guards_in(loop.body):
        holds = known_iterations(guard.always, loop)
        if holds is not None:
            count = min(count, holds)
            guards.append(guard)
    if not guards or not least <= count < loop.extent.value:
        return None
    free = loop.replace(
        extent=const(count, loop.extent.dtype), body=without_guards(loop.body, guards)
    )
    start, left = as_expr(loop.min + count), as_expr(loop.extent - count)
    if is_const_int(left, 1):
        return free, Iteration({loop.loop_var: start})(loop.body)
    return free, Iteration({})(loop.replace(min=start, extent=left))


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


def without_guards(stmt: Stmt, guards: Sequence[Guard]) -> Stmt:
    """`stmt` in which the given parts of conditions are taken to hold."""
    return _Without({id(guard.part) for guard in guards})(stmt)


class _Without(Rewriter):
    def __init__(self, parts: set[int]) -> None:
        self._parts = parts

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        parts = conjuncts(stmt.condition)
        kept = [part for part in parts if id(part) not in self._parts]
        if len(kept) == len(parts) or stmt.else_case is not None:
            return stmt.map_children(self)
        condition: Expr = const(True, BOOL)
        for part in kept:
            condition = logical_and(condition, part)
        body = self(stmt.then_case)
        return stmt.replace(condition=condition, then_case=body) if kept else body
