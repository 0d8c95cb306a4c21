"""Polynomials: sums of products of terms, multiplied out.

A product of sums may have exponentially many monomials. One with more than `MOST_MONOMIALS` counts
as one factor, so that a polynomial is no larger than a multiple of the sum that it is of.
"""

from __future__ import annotations

from tilewright.arith.linear import Terms
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir.expr import Add, Expr, Sub

Monomial = tuple[Expr, ...]
"""Factors in a canonical order (of identity); the empty product is 1."""

Polynomial = dict[Monomial, int]

MOST_MONOMIALS = 32
"""Of a term that is multiplied out."""

_SUMS = frozenset({Add, Sub})


def monomial(factors: tuple[Expr, ...]) -> Monomial:
    """The canonical form of a product."""
    return factors if len(factors) < 2 else tuple(sorted(factors, key=id))


def accumulate(into: Polynomial, other: Polynomial, scale: int = 1) -> None:
    """Add ``scale * other`` to `into`."""
    for product, factor in other.items():
        total = into.get(product, 0) + scale * factor
        if total:
            into[product] = total
        else:
            into.pop(product, None)


def multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    result: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            accumulate(result, {monomial(a + b): x * y})
    return result


def expand_form(s: Simplifier, terms: Terms, constant: int) -> Polynomial:
    """A linear form with the products among its terms multiplied out."""
    result: Polynomial = {(): constant} if constant else {}
    for term, factor in terms.items():
        accumulate(result, expand_term(s, term), factor)
    return result


def expand_term(s: Simplifier, term: Expr) -> Polynomial:
    """One term, multiplied out; a product that may wrap around counts as one factor."""
    factors = s.exact_factors(term)
    if len(factors) == 1:
        return {factors: 1}
    if not any(factor.__class__ in _SUMS for factor in factors):
        return {monomial(factors): 1}
    memo = s.facts.expanded_memo
    found = memo.get(term)
    if found is None:
        product = _expand_product(s, factors)
        found = memo[term] = {(term,): 1} if product is None else product
    return found


def _expand_product(s: Simplifier, factors: tuple[Expr, ...]) -> Polynomial | None:
    """The product of factors of which some are sums, or None if it has too many monomials."""
    result: Polynomial = {(): 1}
    for factor in factors:
        is_sum = factor.__class__ in _SUMS and s.exact(factor)
        part = expand(s, factor) if is_sum else {(factor,): 1}
        if len(result) * len(part) > MOST_MONOMIALS:
            return None
        result = multiply(result, part)
    return result


def expand(s: Simplifier, expr: Expr) -> Polynomial:
    """A simplified expression as a polynomial of its terms."""
    return expand_form(s, *s.terms_of(expr))


def cancel_products(s: Simplifier, terms: Terms) -> int:
    """Multiply out ``(i + 1) * n - i * n`` where that makes the sum shorter.

    Changes `terms`; returns what that adds to the constant.
    """
    if not any(factor.__class__ in _SUMS for term in terms for factor in s.factors.get(term, ())):
        return 0
    result = expand_form(s, terms, 0)
    if len(result) >= sum(1 for factor in terms.values() if factor):
        return 0
    kept = {factor for product in result for factor in product}
    dropped = [t for t in terms if not kept.issuperset(s.factors.get(t, (t,)))]
    if not all(map(s.total, dropped)):
        return 0
    terms.clear()
    for product, factor in result.items():
        if product:
            terms[s.product(product)] = factor
    return result.get((), 0)
