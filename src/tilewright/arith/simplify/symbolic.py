"""Proofs about sizes that are not constant.

A claim is a polynomial that must be at least 0. Variables whose ranges have symbolic ends are
replaced, innermost first, by the end that makes the polynomial smallest, until the constant bounds
of what remains decide. A claim that cannot be proved this way, or not with `EFFORT`, may still be
true.
"""

from __future__ import annotations

from typing import Any

from tilewright.arith.bounds import bounds_of, product
from tilewright.arith.facts import UNBOUNDED, Interval
from tilewright.arith.linear import Terms
from tilewright.arith.simplify.expand import (
    MOST_MONOMIALS,
    Polynomial,
    accumulate,
    expand,
    expand_form,
    monomial,
    multiply,
)
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir.expr import Cast, Expr, FloorDiv, FloorMod, IntImm, Max, Min

_MAX_STEPS = 8
"""Replacements before giving up; each removes a variable or a division."""

EFFORT = 256
"""Monomials of all the claims of one proof before giving up."""


def within(s: Simplifier, expr: Expr, bound: Expr) -> bool:
    """Whether ``0 <= expr < bound`` is known, for simplified expressions."""
    if not s.exact(expr):
        return False
    value = expand(s, expr)
    gap = expand(s, bound)
    accumulate(gap, value, -1)
    accumulate(gap, {(): -1})
    return at_least_zero(s, value) and at_least_zero(s, gap)


def at_least_zero(s: Simplifier, claim: Polynomial) -> bool:
    """Whether `claim` is known to be at least 0."""
    return _Proof(s).holds(claim, _MAX_STEPS)


def polynomial_bounds(s: Simplifier, polynomial: Polynomial) -> Interval:
    """Constant bounds of a polynomial, monomial by monomial."""
    low = high = 0
    for factors, coefficient in polynomial.items():
        value = (coefficient, coefficient)
        for factor in factors:
            value = product(value, bounds_of(s.facts, factor))
        low += value[0]
        high += value[1]
    return low, high


class _Proof:
    """One proof, which gives up when it has taken too much effort."""

    def __init__(self, simplifier: Simplifier) -> None:
        self.simplifier = simplifier
        self.effort = EFFORT

    def holds(self, claim: Polynomial, steps: int) -> bool:
        """Whether `claim` is at least 0, by at most `steps` replacements."""
        s = self.simplifier
        if polynomial_bounds(s, claim)[0] >= 0:
            return True
        self.effort -= len(claim)
        if s.facts.forms and _follows_from_constraint(s, claim):
            return True
        if steps == 0 or self.effort < 0 or len(claim) > MOST_MONOMIALS:
            return False
        return any(
            all(self.holds(stronger, steps - 1) for stronger in together)
            for together in _stronger_claims(s, claim)
        )


def _follows_from_constraint(s: Simplifier, claim: Polynomial) -> bool:
    """Whether a constraint ``low <= form <= high`` leaves a claim that constant bounds decide."""
    for key, (low, high) in s.facts.forms.items():
        form = expand_form(s, dict(key), 0)
        if claim.keys().isdisjoint(form):
            continue  # then subtracting it cannot make the smallest value larger
        for bound, sign in ((low, -1), (high, 1)):
            if abs(bound) >= UNBOUNDED:
                continue
            rest = dict(claim)
            accumulate(rest, form, sign)
            accumulate(rest, {(): -sign * bound})
            if polynomial_bounds(s, rest)[0] >= 0:
                return True
    return False


def _stronger_claims(s: Simplifier, claim: Polynomial) -> list[list[Polynomial]]:
    """Alternatives: claims that together imply `claim`, with one variable or division less."""
    # In the order of the claim: what is proved must not depend on where nodes are in memory.
    atoms = dict.fromkeys(factor for factors in claim for factor in factors)
    for var in reversed(s.facts.symbolic):
        if var in atoms:
            replaced = _at_extreme(s, claim, var)
            if replaced is not None:
                return [[replaced]]
    for atom in atoms:
        if atom.__class__ is FloorDiv:
            replaced = _without_division(s, claim, atom)
            if replaced is not None:
                return [[replaced]]
        if atom.__class__ is FloorMod and atom.b.__class__ is not IntImm:  # type: ignore[attr-defined]
            replaced = _without_remainder(s, claim, atom)
            if replaced is not None:
                return [[replaced]]
        if atom.__class__ is Cast:
            replaced = _without_cast(s, claim, atom)
            if replaced is not None:
                return [[replaced]]
        if atom.__class__ is Min or atom.__class__ is Max:
            sides = _without_choice(s, claim, atom)
            if sides:
                return sides
    return []


def _split_on(claim: Polynomial, atom: Any) -> tuple[Polynomial, Polynomial] | None:
    """``claim == slope * atom + rest``, or None if `atom` appears squared."""
    slope: Polynomial = {}
    rest: Polynomial = {}
    for factors, coefficient in claim.items():
        count = sum(factor is atom for factor in factors)
        if count > 1:
            return None
        if count:
            others = tuple(factor for factor in factors if factor is not atom)
            accumulate(slope, {monomial(others): coefficient})
        else:
            accumulate(rest, {factors: coefficient})
    return slope, rest


def _at_extreme(s: Simplifier, claim: Polynomial, var: Expr) -> Polynomial | None:
    """`claim` with `var` at the end of its range at which it is smallest."""
    split = _split_on(claim, var)
    if split is None:
        return None
    slope, rest = split
    low, high = polynomial_bounds(s, slope)
    known = s.facts.symbolic[var]
    if low >= 0:
        end = known.minimum
    elif high <= 0:
        end = known.maximum
    else:
        return None
    result = multiply(slope, expand(s, end))
    accumulate(result, rest)
    return result


def _without_division(s: Simplifier, claim: Polynomial, atom: Any) -> Polynomial | None:
    """A claim that implies `claim`, with ``x`` in the place of the quotient ``x // d``.

    ``x // d <= r`` if and only if ``x <= r * d + d - 1``, and ``x // d >= r`` if and only if
    ``x >= r * d``. A multiple of the quotient is scaled: ``d * (x // d)`` is ``x - x % d``.
    """
    x, d = atom.a, atom.b
    split = _split_on(claim, atom)
    if split is None or not s.exact(x) or s.lower(d) < 0:
        return None
    slope, rest = split
    sign = slope.get((), 0)
    if len(slope) == 1 and abs(sign) == 1:
        result = multiply(rest, expand(s, d))
        accumulate(result, expand(s, x), sign)
        if sign < 0:
            accumulate(result, expand(s, d))
            accumulate(result, {(): -1})
        return result
    exact_quotient = expand(s, x)
    accumulate(exact_quotient, {(s.make(FloorMod, x, d),): -1})
    if d.__class__ is IntImm:
        result = multiply(slope, exact_quotient)
        accumulate(result, rest, d.value)
        return result
    by = expand(s, d)
    if len(by) != 1:
        return None
    ((factors, scale),) = by.items()
    quotient = _divide(slope, factors, scale)
    if quotient is None:
        return None
    result = multiply(quotient, exact_quotient)
    accumulate(result, rest)
    return result


def _without_remainder(s: Simplifier, claim: Polynomial, atom: Any) -> Polynomial | None:
    """`claim` with the remainder ``x % d`` at 0 or at ``d - 1``, where it is smallest."""
    d = atom.b
    split = _split_on(claim, atom)
    if split is None or s.lower(d) < 0 or not s.exact(d):
        return None
    slope, rest = split
    low, high = polynomial_bounds(s, slope)
    if low >= 0:
        return rest
    if high > 0:
        return None
    most = expand(s, d)
    accumulate(most, {(): -1})
    result = multiply(slope, most)
    accumulate(result, rest)
    return result


def exact_quotient(s: Simplifier, value: Expr, by: Expr) -> Expr | None:
    """``value / by`` where `by` is a factor of every term of `value`, for simplified sizes."""
    divisor = expand(s, by)
    if len(divisor) != 1 or not s.exact(value):
        return None
    ((factors, scale),) = divisor.items()
    quotient = _divide(expand(s, value), factors, scale)
    if quotient is None:
        return None
    terms = {s.product(product_): f for product_, f in quotient.items() if product_}
    return s.sum(terms, quotient.get((), 0), value.dtype)


def _divide(polynomial: Polynomial, factors: tuple[Expr, ...], scale: int) -> Polynomial | None:
    """`polynomial` divided by ``scale * product(factors)``, or None if it does not divide."""
    result: Polynomial = {}
    for product_, coefficient in polynomial.items():
        rest = list(product_)
        for factor in factors:
            position = next((i for i, f in enumerate(rest) if f is factor), None)
            if position is None:
                return None
            rest.pop(position)
        if coefficient % scale:
            return None
        result[tuple(rest)] = coefficient // scale
    return result


def _without_cast(s: Simplifier, claim: Polynomial, atom: Any) -> Polynomial | None:
    """A widening conversion of a sum is the sum of the conversions of its terms."""
    source, target = atom.value, atom.dtype
    if not source.dtype.is_int or not target.is_int or target.bits < source.dtype.bits:
        return None
    terms, constant = s.terms_of(source)
    if (len(terms) == 1 and terms.get(source)) or not s.exact_form(terms, constant, source.dtype):
        return None
    split = _split_on(claim, atom)
    if split is None:
        return None
    slope, rest = split
    value: Polynomial = {(): constant} if constant else {}
    for term, factor in terms.items():
        accumulate(value, {(s(Cast(target, term)),): factor})
    result = multiply(slope, value)
    accumulate(result, rest)
    return result


def _without_choice(s: Simplifier, claim: Polynomial, atom: Any) -> list[list[Polynomial]]:
    """A minimum is at most either side, and it is one of them; likewise a maximum."""
    split = _split_on(claim, atom)
    if split is None:
        return []
    slope, rest = split
    low, high = polynomial_bounds(s, slope)
    sides: list[Polynomial] = []
    for side in (atom.a, atom.b):
        if not s.exact(side):
            return []
        result = multiply(slope, expand(s, side))
        accumulate(result, rest)
        sides.append(result)
    either = low >= 0 if atom.__class__ is Max else high <= 0
    return [[side] for side in sides] if either else [sides]


def split_by_divisor(
    s: Simplifier, terms: Terms, constant: int, divisor: Expr
) -> tuple[Terms, int, Terms, int] | None:
    """A sum as ``divisor * (quotient + whole) + (rest + constant)`` for a symbolic divisor.

    None if the sum may wrap around, or the divisor is itself a sum of which no term is a multiple.
    """
    dtype = divisor.dtype
    if not s.exact_form(terms, constant, dtype):
        return None
    by, offset = s.terms_of(divisor)
    if len(by) != 1 or offset:
        factors: tuple[Expr, ...] = (divisor,)
        scale = 1
    else:
        ((term, scale),) = by.items()
        factors = s.exact_factors(term)
    quotient: Terms = {}
    rest: Terms = {}
    whole = 0
    for term, factor in terms.items():
        others = _divide({s.exact_factors(term): factor}, factors, scale)
        if others is None:
            rest[term] = factor
            continue
        ((product_, coefficient),) = others.items()
        if product_:
            quotient[s.product(product_)] = coefficient
        else:
            whole += coefficient
    if not s.exact_form(rest, constant, dtype):
        return None
    return quotient, whole, rest, constant
