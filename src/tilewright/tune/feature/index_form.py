"""Indices as linear functions of loops.

What an access does to caches shows in its strides along the loops: an index is brought into the
form ``sum(coefficient * loop) + constant``. Divisions that ranges decide disappear::

    (16 * i + j) // 16, j < 16      ->      i
    (16 * i + j) % 16               ->      j

Others stay as `Quotient`, and a remainder is what the quotient leaves: ``x - c * (x // c)``, so
that a loop that was fused of two, and taken apart again by an index, is walked with its own stride.
What is then left of quotients, `strides_along` tells as digits of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tilewright.ir.expr import (
    Add,
    Call,
    Cast,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Ramp,
    Select,
    SizeVar,
    Sub,
    Var,
)
from tilewright.ir.expr import Div as TruncatedDiv
from tilewright.ir.expr import Mod as TruncatedMod

UNKNOWN_SIZE = 128
"""What stands for a size that is known when the function is called only."""

Terms = dict[Any, int]
"""Coefficients by loop or quotient."""


class Form(NamedTuple):
    """``sum(coefficient * key) + constant``; keys have a `low` and a `high` value."""

    terms: Terms
    constant: int


class Quotient:
    """``(sum(terms) + constant) // divisor``."""

    __slots__ = ("constant", "divisor", "high", "low", "terms")

    def __init__(self, terms: Terms, constant: int, divisor: int) -> None:
        self.terms, self.constant, self.divisor = terms, constant, divisor
        low, high = bounds(terms, constant)
        self.low, self.high = low // divisor, high // divisor

    def at(self, values: Mapping[Any, int]) -> int:
        """Its value where the keys of its terms have `values`."""
        return value_at(self.terms, self.constant, values) // self.divisor


class Anything:
    """A position that data decides: any element."""

    __slots__ = ("high", "low")

    def __init__(self, extent: int) -> None:
        self.low, self.high = 0, extent - 1


def bounds(terms: Mapping[Any, int], constant: int) -> tuple[int, int]:
    """The least and the largest value."""
    low = high = constant
    for key, coefficient in terms.items():
        if coefficient > 0:
            low += coefficient * key.low
            high += coefficient * key.high
        else:
            low += coefficient * key.high
            high += coefficient * key.low
    return low, high


def value_at(terms: Mapping[Any, int], constant: int, values: Mapping[Any, int]) -> int:
    """The value of a form where loops have `values`."""
    total = constant
    for key, coefficient in terms.items():
        if key.__class__ is Quotient:
            total += coefficient * key.at(values)
        else:
            total += coefficient * values.get(key, 0)
    return total


class IndexReader:
    """Brings expressions into linear form.

    Attributes:
        known: the forms of variables.
    """

    def __init__(self) -> None:
        self.known: dict[Var, Form] = {}
        self._quotients: dict[Any, Quotient] = {}

    def form(self, expr: Any) -> Form:
        """The form of an integer expression."""
        known = self.known.get(expr)
        if known is not None:
            return known
        terms: Terms = {}
        constant = self.add(expr, 1, terms)
        return Form(terms, constant)

    def add(self, expr: Any, scale: int, terms: Terms) -> int:
        """Add ``scale * expr`` to `terms`; returns the constant part."""
        kind = expr.__class__
        if kind is Var or kind is SizeVar:
            known = self.known.get(expr)
            if known is None:
                return scale * UNKNOWN_SIZE
            return _add_form(known.terms, known.constant, scale, terms)
        if kind is IntImm:
            return scale * expr.value
        if kind is Add:
            return self.add(expr.a, scale, terms) + self.add(expr.b, scale, terms)
        if kind is Mul:
            a, b = expr.a, expr.b
            if b.__class__ is IntImm:
                return self.add(a, scale * b.value, terms)
            return self._add_product(self.form(a), self.form(b), scale, terms)
        if kind is Sub:
            return self.add(expr.a, scale, terms) + self.add(expr.b, -scale, terms)
        if kind is Cast:
            return self.add(expr.value, scale, terms)
        other = _OTHERS.get(kind)
        if other is None:
            terms[Anything(UNKNOWN_SIZE)] = scale
            return 0
        return other(self, expr, scale, terms)

    def _add_product(self, a: Form, b: Form, scale: int, terms: Terms) -> int:
        if a.terms and b.terms:
            terms[Anything(bounds(*a)[1] * bounds(*b)[1] + 1)] = scale
            return 0
        if a.terms:
            a, b = b, a
        return _add_form(b.terms, b.constant, scale * a.constant, terms)

    def _add_quotient(self, expr: Any, scale: int, terms: Terms) -> int:
        divisor = self.form(expr.b)
        if divisor.terms or divisor.constant <= 0:
            terms[Anything(UNKNOWN_SIZE)] = scale
            return 0
        quotient = self.quotient(self.form(expr.a), divisor.constant)
        return _add_form(quotient.terms, quotient.constant, scale, terms)

    def _add_remainder(self, expr: Any, scale: int, terms: Terms) -> int:
        divisor = self.form(expr.b)
        if divisor.terms or divisor.constant <= 0:
            terms[Anything(UNKNOWN_SIZE)] = scale
            return 0
        dividend = self.form(expr.a)
        quotient = self.quotient(dividend, divisor.constant)
        constant = _add_form(dividend.terms, dividend.constant, scale, terms)
        scale *= -divisor.constant
        return constant + _add_form(quotient.terms, quotient.constant, scale, terms)

    def quotient(self, form: Form, divisor: int) -> Form:
        """The form of ``form // divisor``."""
        whole: Terms = {}
        rest: Terms = {}
        for key, coefficient in form.terms.items():
            if coefficient % divisor:
                rest[key] = coefficient
            else:
                whole[key] = coefficient // divisor
        constant, left = divmod(form.constant, divisor)
        if not rest:
            return Form(whole, constant)
        low, high = bounds(rest, left)
        if low // divisor == high // divisor:
            return Form(whole, constant + low // divisor)
        rest, left, divisor = _coarsened(rest, left, divisor)
        if len(rest) == 1 and not left:
            ((key, coefficient),) = rest.items()
            if coefficient == 1 and key.__class__ is Quotient:  # (x // a) // b
                nested = self.quotient(Form(key.terms, key.constant), key.divisor * divisor)
                constant += _add_form(nested.terms, nested.constant, 1, whole)
                return Form(whole, constant)
        found = self._quotient(rest, left, divisor)
        whole[found] = whole.get(found, 0) + 1
        return Form(whole, constant)

    def _quotient(self, terms: Terms, constant: int, divisor: int) -> Quotient:
        key = (frozenset(terms.items()), constant, divisor)
        found = self._quotients.get(key)
        if found is None:
            found = self._quotients[key] = Quotient(terms, constant, divisor)
        return found

    def _add_ramp(self, expr: Ramp, scale: int, terms: Terms) -> int:
        return self.add(expr.base, scale, terms)

    def _add_selected(self, expr: Any, scale: int, terms: Terms) -> int:
        # The case that is written first is the usual one.
        chosen = expr.true_value if expr.__class__ is Select else expr.args[-2]
        return self.add(chosen, scale, terms)

    def _add_bounded(self, expr: Any, scale: int, terms: Terms) -> int:
        # A minimum with a constant keeps an index inside: it is what it is nearly everywhere.
        a, b = self.form(expr.a), self.form(expr.b)
        if a.terms or not b.terms:
            chosen = a
            if not b.terms and not a.terms:
                pick = min if expr.__class__ is Min else max
                return scale * pick(a.constant, b.constant)
        else:
            chosen = b
        return _add_form(chosen.terms, chosen.constant, scale, terms)

    def _add_call(self, expr: Call, scale: int, terms: Terms) -> int:
        name = getattr(expr.op, "name", "")
        if name == "tir.if_then_else":
            return self._add_selected(expr, scale, terms)
        if name == "tir.likely":
            return self.add(expr.args[0], scale, terms)
        terms[Anything(UNKNOWN_SIZE)] = scale
        return 0


_OTHERS: Mapping[type, Any] = {
    FloorDiv: IndexReader._add_quotient,
    FloorMod: IndexReader._add_remainder,
    TruncatedDiv: IndexReader._add_quotient,
    TruncatedMod: IndexReader._add_remainder,
    Min: IndexReader._add_bounded,
    Max: IndexReader._add_bounded,
    Select: IndexReader._add_selected,
    Call: IndexReader._add_call,
    Ramp: IndexReader._add_ramp,
}


def _add_form(added: Terms, constant: int, scale: int, terms: Terms) -> int:
    for key, coefficient in added.items():
        total = terms.get(key, 0) + coefficient * scale
        if total:
            terms[key] = total
        else:
            terms.pop(key, None)
    return constant * scale


def _coarsened(terms: Terms, constant: int, divisor: int) -> tuple[Terms, int, int]:
    """The same quotient without what is too small to matter.

    ``(16 * i + j) // 32`` is ``i // 2`` where ``j < 16``.
    """
    small_low = small_high = constant
    ordered = sorted(terms.items(), key=lambda item: abs(item[1]))
    for position, (key, unit) in enumerate(ordered):
        if (
            small_low >= 0
            and small_high < unit
            and divisor % unit == 0
            and all(coefficient % unit == 0 for _, coefficient in ordered[position:])
        ):
            large = {key: coefficient // unit for key, coefficient in ordered[position:]}
            return large, 0, divisor // unit
        if unit < 0:
            small_low, small_high = small_low + unit * key.high, small_high + unit * key.low
        else:
            small_low, small_high = small_low + unit * key.low, small_high + unit * key.high
    return terms, constant, divisor
