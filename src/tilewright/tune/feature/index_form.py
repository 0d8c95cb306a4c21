"""Indices as linear functions of loops, as far as a cost model wants to know them.

What an access does to caches shows in its strides along the loops: an index is brought into linear
form, whose terms are loops and quotients of them. What is not linear is approximated here, where it
does no harm: an unknown size is a number, of a choice the usual case counts, and what data decides
may be anything. Nothing that asks whether a transformation is right may read indices so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final

from tilewright.arith.facts import Interval
from tilewright.arith.linear import LinearForm, Terms, collect, linear_form
from tilewright.arith.quotients import divided, remainder
from tilewright.ir.expr import (
    Call,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Ramp,
    Select,
    SizeVar,
    Var,
)

UNKNOWN_SIZE: Final = 128
"""What stands for a size that is known when the function is called only."""

interval: Final[Callable[[Any], Interval]] = attrgetter("low", "high")
"""The bounds of a term: each has a `low` and a `high` value."""


class Anything:
    """A position that data decides: any element."""

    __slots__ = ("high", "low")

    def __init__(self, extent: int = UNKNOWN_SIZE) -> None:
        self.low, self.high = 0, extent - 1


class IndexReader:
    """Brings expressions into linear form.

    Attributes:
        known: the forms of variables.
    """

    def __init__(self) -> None:
        self.known: dict[Var, LinearForm] = {}

    def form(self, expr: Any) -> LinearForm:
        """The form of an integer expression."""
        if expr.__class__ is IntImm:
            return LinearForm({}, expr.value)
        known = self.known.get(expr)
        return linear_form(expr, self._opaque, self.known) if known is None else known

    def add(self, expr: Any, scale: int, terms: Terms) -> int:
        """Add ``scale * expr`` to `terms`; returns the constant part."""
        return collect(expr, scale, terms, self._opaque, self.known)

    def _opaque(self, expr: Any, scale: int, terms: Terms) -> int:
        kind = expr.__class__
        if kind is Var or kind is SizeVar:
            return scale * UNKNOWN_SIZE
        handler = _OTHERS.get(kind)
        if handler is None:
            terms[Anything()] = scale
            return 0
        return handler(self, expr, scale, terms)

    def _add_product(self, expr: Mul, scale: int, terms: Terms) -> int:
        a, b = self.form(expr.a), self.form(expr.b)
        if a.terms and b.terms:
            terms[Anything(a.bounds(interval)[1] * b.bounds(interval)[1] + 1)] = scale
            return 0
        if a.terms:
            a, b = b, a
        return b.add_to(terms, scale * a.constant)

    def _add_division(self, expr: Any, scale: int, terms: Terms) -> int:
        divisor = self.form(expr.b)
        if divisor.terms or divisor.constant <= 0:
            terms[Anything()] = scale
            return 0
        part = divided if expr.__class__ in (FloorDiv, Div) else remainder
        return part(self.form(expr.a), divisor.constant, interval).add_to(terms, scale)

    def _add_cast(self, expr: Cast, scale: int, terms: Terms) -> int:
        return self.add(expr.value, scale, terms)

    def _add_ramp(self, expr: Ramp, scale: int, terms: Terms) -> int:
        return self.add(expr.base, scale, terms)

    def _add_selected(self, expr: Any, scale: int, terms: Terms) -> int:
        # The case that is written first is the usual one.
        chosen = expr.true_value if expr.__class__ is Select else expr.args[-2]
        return self.add(chosen, scale, terms)

    def _add_bounded(self, expr: Any, scale: int, terms: Terms) -> int:
        # A minimum with a constant keeps an index inside: it is what it is nearly everywhere.
        a, b = self.form(expr.a), self.form(expr.b)
        if not a.terms and not b.terms:
            pick = min if expr.__class__ is Min else max
            return scale * pick(a.constant, b.constant)
        return (a if a.terms else b).add_to(terms, scale)

    def _add_call(self, expr: Call, scale: int, terms: Terms) -> int:
        name = getattr(expr.op, "name", "")
        if name == "tir.if_then_else":
            return self._add_selected(expr, scale, terms)
        if name == "tir.likely":
            return self.add(expr.args[0], scale, terms)
        terms[Anything()] = scale
        return 0


_OTHERS: Final[Mapping[type, Any]] = {
    Mul: IndexReader._add_product,
    FloorDiv: IndexReader._add_division,
    FloorMod: IndexReader._add_division,
    Div: IndexReader._add_division,
    Mod: IndexReader._add_division,
    Min: IndexReader._add_bounded,
    Max: IndexReader._add_bounded,
    Cast: IndexReader._add_cast,
    Select: IndexReader._add_selected,
    Call: IndexReader._add_call,
    Ramp: IndexReader._add_ramp,
}
