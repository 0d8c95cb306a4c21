"""Guards without what makes no difference: ``m0 * 8 + m1 < 1000`` with ``m1 < 8`` is ``m0 < 125``.

Such a guard is one of whole vectors, whose lanes need no masks.
"""

from __future__ import annotations

from functools import reduce

from tilewright.ir.arithmetic import logical_and
from tilewright.tir.stmt import For, IfThenElse, Stmt
from tilewright.tir.transform.analysis.ranges import Ranges, conjuncts
from tilewright.tir.transform.building.statements import StatementRewriter


def shorten_guards(body: Stmt) -> Stmt:
    """`body`, whose guards ask only for loops that make a difference."""
    return _Shortening()(body)


class _Shortening(StatementRewriter):
    def __init__(self) -> None:
        self._ranges = Ranges()

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        return loop.map_children(self)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        parts = conjuncts(stmt.condition)
        shortened = [self._ranges.without_low_digits(part) for part in parts]
        if any(new is not old for new, old in zip(shortened, parts, strict=True)):
            stmt = stmt.replace(condition=reduce(logical_and, shortened))
        return stmt.map_children(self)
