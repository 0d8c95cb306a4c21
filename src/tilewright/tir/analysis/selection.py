"""Updates that choose between old and new values by comparing them, as of arguments of maxima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.expr import (
    And,
    Call,
    CompareExpr,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Not,
    Or,
    Var,
)
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.identical import identical
from tilewright.tir.analysis.reducer_source import choice_of
from tilewright.tir.buffer import BufferLoad


class Selection(NamedTuple):
    """What chooses between old and new values.

    Attributes:
        values: the new ones.
        results: what is chosen, in terms of variables for both.
    """

    values: tuple[Expr, ...]
    results: tuple[Expr, ...]


def match_selection(
    values: Sequence[Expr], targets: Sequence[BufferLoad], lhs: Sequence[Var], rhs: Sequence[Var]
) -> Selection | None:
    """Values each of which is chosen from the old one and one new value.

    What decides is made of comparisons of old values, the new ones, and constants.

    Args:
        values: what is stored.
        targets: the elements, with the old values.
        lhs: the variables for the old values.
        rhs: the variables for the new values.
    """
    selection = _Matcher(targets, lhs, rhs)
    news = tuple(selection.new_value(n, value) for n, value in enumerate(values))
    if None in news:
        return None
    selection.news = tuple(new for new in news if new is not None)
    found = [selection.abstract(value) for value in values]
    results = tuple(result for result in found if result is not None)
    if len(results) != len(values):
        return None
    pairs = zip(lhs, results, strict=True)
    if not all(any(node is old for node in walk(result)) for old, result in pairs):
        return None
    return Selection(selection.news, results)


class _Matcher:
    """Finds the new values, and what is chosen in terms of variables for both."""

    def __init__(
        self, targets: Sequence[BufferLoad], lhs: Sequence[Var], rhs: Sequence[Var]
    ) -> None:
        self.targets, self.lhs, self.rhs = targets, lhs, rhs
        self.news: tuple[Expr, ...] = ()
        self._memory = {target.buffer.data for target in targets}

    def _is_new(self, expr: Node) -> bool:
        """Whether an expression does not depend on the old values."""
        loads = (node for node in walk(expr) if isinstance(node, BufferLoad))
        return all(load.buffer.data not in self._memory for load in loads)

    def new_value(self, position: int, value: Expr) -> Expr | None:
        """What is chosen in place of the old value; None if that is not one expression."""
        old = self.targets[position]
        news = [leaf for leaf in self._chosen(value) if not identical(leaf, old)]
        if not news or not all(self._is_new(leaf) and identical(leaf, news[0]) for leaf in news):
            return None
        return news[0]

    def _chosen(self, value: Expr) -> list[Expr]:
        if self._is_new(value):
            return [value]
        if isinstance(value, (Min, Max)):
            return [*self._chosen(value.a), *self._chosen(value.b)]
        choice = choice_of(value)
        return [value] if choice is None else [*self._chosen(choice[1]), *self._chosen(choice[2])]

    def abstract(self, expr: Expr, beside: Expr | None = None) -> Expr | None:
        """`expr` in terms of variables for old and new values; None if there is more in it.

        Args:
            expr: the expression.
            beside: what it is compared with: of equal new values, the one of the same component.
        """
        for var, target in zip(self.lhs, self.targets, strict=True):
            if identical(expr, target):
                return var
        known = [n for n, new in enumerate(self.news) if identical(expr, new)]
        if known:
            old = [] if beside is None else [n for n in known if identical(beside, self.targets[n])]
            return self.rhs[(old or known)[0]]
        if isinstance(expr, (IntImm, FloatImm)):
            return expr
        if isinstance(expr, (CompareExpr, Min, Max, And, Or)):
            a, b = self.abstract(expr.a, expr.b), self.abstract(expr.b, expr.a)
            return None if a is None or b is None else type(expr)(a, b)  # type: ignore[call-arg]
        if isinstance(expr, Not):
            inner = self.abstract(expr.a)
            return None if inner is None else Not(inner)
        is_nan_test = isinstance(expr, Call) and getattr(expr.op, "name", "") == "tir.isnan"
        return self._rebuilt(expr) if is_nan_test or choice_of(expr) is not None else None

    def _rebuilt(self, expr: Expr) -> Expr | None:
        children = expr.args if isinstance(expr, Call) else expr.children()
        found = {id(child): self.abstract(child) for child in children}  # type: ignore[arg-type]
        if None in found.values():
            return None
        return expr.map_children(lambda child: found.get(id(child), child))
