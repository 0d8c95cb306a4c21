"""Guards without what makes no difference, and loops that end where their guard no longer holds.

``m0 * 8 + m1 < 1000`` with ``m1 < 8`` is ``m0 < 125``: such a guard is one of whole vectors, whose
lanes need no masks.

Windows have different numbers of elements, which a loop over those of the largest one asks about::

    for k in range(73):                             for k in range(min(size(i), 73)):
        if k < size(i): S(i, k)             ->          S(i, k)

Most of them are smaller, so that it would be no use to ask whether all elements are there.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from tilewright.arith.linear import LinearForm
from tilewright.ir.arithmetic import logical_and, minimum
from tilewright.ir.convert import cast
from tilewright.ir.expr import GE, GT, LE, LT, Expr, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.stmt import For, ForKind, IfThenElse, Stmt
from tilewright.tir.transform.analysis.affine import difference, split, to_expr
from tilewright.tir.transform.analysis.ranges import Ranges, conjuncts
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.building.statements import StatementRewriter

LONG: Final = 16
"""Iterations from which on it does no harm that their number is not known."""


def shorten_guards(body: Stmt) -> Stmt:
    """`body`, whose guards ask only for loops that make a difference, and whose loops end early."""
    return _Shortening()(body)


class _Shortening(StatementRewriter):
    def __init__(self) -> None:
        self._ranges = Ranges()

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        return _ending_early(loop.map_children(self))

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        parts = conjuncts(stmt.condition)
        shortened = [self._ranges.without_low_digits(part) for part in parts]
        if any(new is not old for new, old in zip(shortened, parts, strict=True)):
            stmt = stmt.replace(condition=reduce(logical_and, shortened))
        return stmt.map_children(self)


def _ending_early(loop: For) -> For:
    """An innermost loop without the guards of all it does that hold up to some iteration."""
    extent, branch = loop.extent, loop.body
    if loop.kind is not ForKind.SERIAL or loop.annotations or not isinstance(extent, IntImm):
        return loop
    if extent.value < LONG or not isinstance(branch, IfThenElse) or branch.else_case is not None:
        return loop
    if any(isinstance(node, For) for node in walk(branch)):
        return loop
    kept: list[Expr] = []
    count: Expr = extent
    for part in conjuncts(branch.condition):
        own = _count(part, loop, extent)
        if own is None:
            kept.append(part)
        else:
            count = minimum(count, own)
    if count is extent:
        return loop
    body = branch.then_case
    if kept:
        body = branch.replace(condition=reduce(logical_and, kept))
    return loop.replace(extent=count, body=body)


def _count(condition: Expr, loop: For, extent: IntImm) -> Expr | None:
    """The number of iterations of a loop up to which a comparison holds, `extent` or fewer.

    None if it may hold again later, the number may not be computed outside, or the loop is one over
    a tile.
    """
    if isinstance(condition, (LT, LE)):
        form = difference(condition.a, condition.b)
    elif isinstance(condition, (GT, GE)):
        form = difference(condition.b, condition.a)
    else:
        return None
    parts = split(form, loop.loop_var) if condition.a.dtype.is_index else None
    if parts is None or not parts[0].is_constant() or parts[0].constant != 1:
        return None
    rest = parts[1]
    if any(isinstance(term, Var) and n % extent.value == 0 for term, n in rest.terms.items()):
        return None
    end = to_expr(
        LinearForm({term: -n for term, n in rest.terms.items()}, -rest.constant),
        condition.a.dtype,
    )
    if not rest.terms or not is_simple(end):
        return None
    # The end may be the largest number of its dtype: the last iteration is compared, then counted.
    last = 1 if isinstance(condition, (LE, GE)) else 0
    limited = minimum(cast(end.dtype, extent) - last, end - cast(end.dtype, loop.min))
    return cast(extent.dtype, limited) + last
