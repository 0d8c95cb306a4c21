"""Comparisons of integers: decided by bounds, and shortened where both sides share terms."""

from __future__ import annotations

from math import gcd
from typing import Any

from tilewright.arith.bounds import linear_bounds
from tilewright.arith.facts import EVERYTHING, Interval
from tilewright.arith.linear import LinearForm, Terms, collect, without_low_digits
from tilewright.arith.modular import modular_of
from tilewright.arith.simplify.expand import accumulate, expand_form
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.symbolic import at_least_zero
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.dtype import BOOL, DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    Broadcast,
    CompareExpr,
    Expr,
    FloorDiv,
    IntImm,
    Max,
    Min,
    Mul,
    Ramp,
    Sub,
)
from tilewright.ir.folding import fold_constants

_SUMS = frozenset({Add, Sub, Mul})


def difference(s: Simplifier, a: Expr, b: Expr) -> tuple[Terms, int] | None:
    """``a - b`` as a linear form; None if either side may wrap around."""
    terms: Terms = {}
    constant = collect(a, 1, terms)
    if a.__class__ in _SUMS and not s.exact_form(terms, constant, a.dtype):
        return None
    if b.__class__ is IntImm:
        return terms, constant - b.value  # type: ignore[attr-defined]
    if not s.exact(b):
        return None
    constant += collect(b, -1, terms)
    if 0 in terms.values():
        terms = {term: factor for term, factor in terms.items() if factor}
    return terms, constant


def difference_bounds(s: Simplifier, a: Expr, b: Expr) -> Interval:
    """Constant bounds of ``a - b``, computed without wrapping around."""
    form = difference(s, a, b)
    return EVERYTHING if form is None else linear_bounds(s.facts, *form)


def _symbolic(s: Simplifier, terms: Terms) -> bool:
    """Whether a proof beyond constant bounds has anything to work with."""
    if not terms:
        return False
    if s.facts.symbolic or s.facts.forms:
        return True
    return any(t.__class__ in (FloorDiv, Min, Max, Mul) for t in terms) and len(terms) > 1


def known_at_least(s: Simplifier, a: Expr, b: Expr) -> bool:
    """Whether ``a >= b`` is known, also for symbolic sizes."""
    form = difference(s, a, b)
    if form is None:
        return False
    terms, constant = form
    if linear_bounds(s.facts, terms, constant)[0] >= 0:
        return True
    return _symbolic(s, terms) and at_least_zero(s, expand_form(s, terms, constant))


def known_by_bounds(s: Simplifier, condition: CompareExpr) -> bool:
    """Whether constant bounds alone tell that a comparison holds, which is the usual case."""
    kind, dtype = condition.__class__, condition.a.dtype
    if kind is NE or not dtype.is_int or dtype.lanes != 1:
        return False
    form = difference(s, s(condition.a), s(condition.b))
    if form is None:
        return False
    low, high = linear_bounds(s.facts, *form)
    if kind is LT or kind is LE:
        return high < 0 if kind is LT else high <= 0
    if kind is GT or kind is GE:
        return low > 0 if kind is GT else low >= 0
    return low == high == 0


def compare(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """A comparison of simplified operands."""
    dtype = a.dtype
    folded = fold_constants(kind, a, b)
    if folded is not None:
        return s(folded)
    if dtype.lanes != 1:
        return _compare_vectors(s, kind, a, b)
    if not dtype.is_int and not dtype.is_uint:
        return s.make(kind, a, b)
    form = difference(s, a, b)
    if form is None:
        return s.make(kind, a, b)
    if s.total(a) and s.total(b):
        known = decide(s, kind, *form)
        if known is not None:
            return s.constant(int(known), BOOL)
    return _shortened(s, kind, a, b, *form)


def decide(s: Simplifier, kind: type[Any], terms: Terms, constant: int) -> bool | None:
    """Whether ``terms + constant`` compares with 0 as `kind` says; None if that is not known."""
    if kind is EQ or kind is NE:
        different = _is_different(s, terms, constant)
        return None if different is None else different == (kind is NE)
    low, high = linear_bounds(s.facts, terms, constant)
    # Each question is whether the form is at most `limit`.
    negated = kind is GE or kind is GT
    limit = -1 if kind is LT or kind is GE else 0
    if high <= limit:
        return not negated
    if low > limit:
        return negated
    if not _symbolic(s, terms):
        return None
    value = expand_form(s, terms, constant)
    below = {product: -factor for product, factor in value.items()}
    accumulate(below, {(): limit})
    if at_least_zero(s, below):
        return not negated
    accumulate(value, {(): -limit - 1})
    return negated if at_least_zero(s, value) else None


def _is_different(s: Simplifier, terms: Terms, constant: int) -> bool | None:
    """Whether the form is known to be (un)equal to 0."""
    if not terms:
        return constant != 0
    low, high = linear_bounds(s.facts, terms, constant)
    if low == high == 0:
        return False
    if low > 0 or high < 0:
        return True
    coeff, base = 0, constant
    for term, factor in terms.items():
        step, rest = modular_of(s.facts, term)
        coeff = gcd(coeff, step * factor)
        base += rest * factor
    if coeff and base % coeff:
        return True
    if not _symbolic(s, terms):
        return None
    value = expand_form(s, terms, constant)
    if not value:
        return False
    return _is_different_symbolic(s, value)


def _is_different_symbolic(s: Simplifier, value: Any) -> bool | None:
    below = {product: -factor for product, factor in value.items()}
    if at_least_zero(s, value) and at_least_zero(s, below):
        return False
    for side in (value, below):
        positive = dict(side)
        accumulate(positive, {(): -1})
        if at_least_zero(s, positive):
            return True
    return None


def _shortened(
    s: Simplifier, kind: type[Any], a: Expr, b: Expr, terms: Terms, constant: int
) -> Expr:
    """The comparison without terms that both sides share, common factors and low digits."""
    unchanged = s.make(kind, a, b)
    left, right = s.terms_of(a)[0], s.terms_of(b)[0]
    if not terms or not all(map(s.total, left)) or not all(map(s.total, right)):
        return unchanged
    shorter = len(terms) < len(left) + len(right)
    if kind is EQ or kind is NE:
        common = gcd(*terms.values())
        if constant % common:
            return s.constant(int(kind is NE), BOOL)
        if not shorter and common == 1:
            return unchanged
        terms = {term: factor // common for term, factor in terms.items()}
        constant //= common
    else:
        reduced = _reduce_inequality(s, kind, terms, constant)
        if reduced is None and not shorter:
            return unchanged
        terms, constant = reduced or (terms, constant)
    known = decide(s, kind, terms, constant)
    if known is not None:
        return s.constant(int(known), BOOL)
    sides = _sides(s, terms, constant, left, right, a.dtype)
    return unchanged if sides is None else s.make(kind, *sides)


def _reduce_inequality(
    s: Simplifier, kind: type[Any], terms: Terms, constant: int
) -> tuple[Terms, int] | None:
    """An equivalent comparison with 0 of fewer or smaller terms; None if nothing applies."""
    flip = -1 if kind is GT or kind is GE else 1
    shift = 1 if kind is LE or kind is GE else 0
    form = LinearForm(
        {term: flip * factor for term, factor in terms.items()}, flip * constant - shift
    )
    shorter = without_low_digits(form, lambda lower: linear_bounds(s.facts, *lower))
    if shorter is None:
        return None
    reduced = {term: flip * factor for term, factor in shorter.terms.items()}
    return reduced, flip * (shorter.constant + shift)


def _sides(
    s: Simplifier, terms: Terms, constant: int, left: Terms, right: Terms, dtype: DType
) -> tuple[Expr, Expr] | None:
    """Two sides that differ by ``terms + constant``; None if one of them may wrap around.

    A term stays on its side, unless all factors there would be negative.
    """
    a: Terms = {}
    b: Terms = {}
    for term, factor in terms.items():
        stays_left = term in left if (term in left) != (term in right) else factor > 0
        if stays_left:
            a[term] = factor
        else:
            b[term] = -factor
    if all(factor < 0 for factor in a.values()):
        a, b = {}, b | {term: -factor for term, factor in a.items()}
    elif b and all(factor < 0 for factor in b.values()):
        a, b = a | {term: -factor for term, factor in b.items()}, {}
    offsets = (0, -constant) if a else (constant, 0)
    for form, offset in ((a, offsets[0]), (b, offsets[1])):
        values = (offset, *form.values())
        if not all(dtype.min_int <= value <= dtype.max_int for value in values):
            return None
        if not s.exact_form(form, offset, dtype):
            return None
    return s.sum(a, offsets[0], dtype), s.sum(b, offsets[1], dtype)


def _compare_vectors(s: Simplifier, kind: type[Any], a: Any, b: Any) -> Expr:
    """Lanes that all compare alike become a broadcast."""
    if a.dtype.is_integral and a.__class__ is Ramp and b.__class__ is Broadcast:
        last = s.construct(Mul, a.stride, s.constant(a.lanes - 1, a.stride.dtype))
        ends = (a.base, s.sum({a.base: 1, last: 1}, 0, a.base.dtype))
        if kind in (LT, LE, GT, GE):
            answers = {compare(s, kind, s(end), b.value) for end in ends}
            answer = answers.pop()
            if not answers and answer.__class__ is IntImm:
                return s.intern(Broadcast(answer, a.lanes))
    return simplify_vector(s, kind, a, b)


def _register(kind: type[Any]) -> None:
    Simplifier.handlers[kind] = lambda s, expr: compare(s, kind, s(expr.a), s(expr.b))
    Simplifier.constructors[kind] = lambda s, a, b: compare(s, kind, a, b)


for _kind in (EQ, NE, LT, LE, GT, GE):
    _register(_kind)
