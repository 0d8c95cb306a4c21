"""Quotients by constants as terms of linear forms.

Divisions that bounds decide disappear::

    (16 * i + j) // 16, j < 16      ->      i
    (16 * i + j) % 16               ->      j

Others stay as `Quotient`, and a remainder is what the quotient leaves: ``x - c * (x // c)``, so
that a loop that was fused of two, and taken apart again by an index, keeps its own stride. Forms of
quotients of one loop are forms of its digits, which are independent of each other::

    i - 4 * (i // 4)                ->      the lower digit of i = 4 * upper + lower
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.arith.facts import Interval
from tilewright.arith.linear import LinearForm, Terms, nonzero


class Quotient:
    """``form // divisor``, rounded down; equal where both are.

    Attributes:
        form: the dividend.
        divisor: more than 0.
        low: the least value.
        high: the largest value.
    """

    __slots__ = ("_hash", "divisor", "form", "high", "low")

    def __init__(self, form: LinearForm, divisor: int, interval: Callable[[Any], Interval]) -> None:
        self.form, self.divisor = form, divisor
        low, high = form.bounds(interval)
        self.low, self.high = low // divisor, high // divisor
        self._hash = hash((frozenset(form.terms.items()), form.constant, divisor))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not Quotient:
            return NotImplemented
        return self.divisor == other.divisor and self.form == other.form  # type: ignore[attr-defined]


def divided(form: LinearForm, divisor: int, interval: Callable[[Any], Interval]) -> LinearForm:
    """``form // divisor``, rounded down.

    Args:
        form: the dividend.
        divisor: more than 0.
        interval: bounds of terms; `Quotient` has its own.
    """
    whole: Terms = {}
    rest: Terms = {}
    for term, coefficient in form.terms.items():
        if coefficient % divisor:
            rest[term] = coefficient
        else:
            whole[term] = coefficient // divisor
    constant, left = divmod(form.constant, divisor)
    if not rest:
        return LinearForm(whole, constant)
    low, high = LinearForm(rest, left).bounds(interval)
    if low // divisor == high // divisor:
        return LinearForm(whole, constant + low // divisor)
    # Of larger multiples, such as (41 * i) // 40, bounds may decide what is left.
    small = LinearForm({term: factor % divisor for term, factor in rest.items()}, left)
    low, high = small.bounds(interval)
    if low // divisor == high // divisor:
        whole |= {term: factor // divisor for term, factor in rest.items()}
        return LinearForm(nonzero(whole), constant + low // divisor)
    inner, divisor = _coarsened(LinearForm(rest, left), divisor, interval)
    if len(inner.terms) == 1 and not inner.constant:
        ((term, coefficient),) = inner.terms.items()
        if coefficient == 1 and term.__class__ is Quotient:  # (x // a) // b
            nested = divided(term.form, term.divisor * divisor, interval)
            constant += nested.add_to(whole, 1)
            return LinearForm(nonzero(whole), constant)
    quotient = Quotient(inner, divisor, interval)
    whole[quotient] = whole.get(quotient, 0) + 1
    return LinearForm(nonzero(whole), constant)


def remainder(form: LinearForm, divisor: int, interval: Callable[[Any], Interval]) -> LinearForm:
    """``form % divisor``, from 0 on; the arguments are those of `divided`."""
    return form.plus(divided(form, divisor, interval), -divisor)


def _coarsened(
    form: LinearForm, divisor: int, interval: Callable[[Any], Interval]
) -> tuple[LinearForm, int]:
    """The same quotient without what is too small to matter.

    ``(16 * i + j) // 32`` is ``i // 2`` where ``j < 16``.
    """
    low = high = form.constant
    ordered = sorted(form.terms.items(), key=lambda item: abs(item[1]))
    found, by = form, divisor
    for position, (term, unit) in enumerate(ordered):
        large = ordered[position:]
        if (
            low >= 0
            and high < unit
            and divisor % unit == 0
            and all(coefficient % unit == 0 for _, coefficient in large)
        ):
            terms = {term: coefficient // unit for term, coefficient in large}
            found, by = LinearForm(terms, 0), divisor // unit
        least, most = interval(term)
        low += unit * (most if unit < 0 else least)
        high += unit * (least if unit < 0 else most)
    return found, by


def value_of(form: LinearForm, values: Mapping[Any, int]) -> int:
    """The value of a form where the terms other than quotients have `values`."""
    total = form.constant
    for term, coefficient in form.terms.items():
        if term.__class__ is Quotient:
            total += coefficient * (value_of(term.form, values) // term.divisor)
        else:
            total += coefficient * values[term]
    return total


class Digit(NamedTuple):
    """``source // unit % extent``, where `source` is a term whose values start at 0."""

    source: Any
    unit: int
    extent: int


def divided_term(term: Any) -> tuple[Any, int] | None:
    """The term and the divisor of a quotient of a single term, itself not a quotient."""
    if term.__class__ is not Quotient or term.form.constant or len(term.form.terms) != 1:
        return None
    ((source, coefficient),) = term.form.terms.items()
    return (source, term.divisor) if coefficient == 1 and source.__class__ is not Quotient else None


def divisors_of(forms: Iterable[Iterable[Any]]) -> dict[Any, set[int]]:
    """By what the terms of some forms are divided; for terms that are divided."""
    divisors: dict[Any, set[int]] = {}
    for terms in forms:
        for term in terms:
            found = divided_term(term)
            if found is not None:
                divisors.setdefault(found[0], set()).add(found[1])
    return divisors


def digits_of(source: Any, extent: int, divisors: Iterable[int]) -> list[Digit]:
    """The digits of a term with values from 0 to `extent`, the most significant first.

    The units are the divisors, as far as each is a multiple of the one before.
    """
    unit, digits = 1, []
    for divisor in sorted(divisors):
        if divisor % unit == 0 and unit < divisor < extent:
            digits.append(Digit(source, unit, divisor // unit))
            unit = divisor
    return [Digit(source, unit, -(-extent // unit)), *reversed(digits)]


def in_digits(form: LinearForm, digits: Mapping[Any, Sequence[Digit]]) -> LinearForm | None:
    """A form with digits in place of terms and of their quotients.

    None if a divisor is not among the units of the digits.
    """
    terms: Terms = {}
    for term, coefficient in form.terms.items():
        source, divisor = divided_term(term) or (term, 1)
        if source not in digits:
            terms[term] = terms.get(term, 0) + coefficient
            continue
        if all(digit.unit != divisor for digit in digits[source]):
            return None
        for digit in digits[source]:
            if digit.unit >= divisor:
                multiple = coefficient * (digit.unit // divisor)
                terms[digit] = terms.get(digit, 0) + multiple
    return LinearForm(nonzero(terms), form.constant)
