"""Inequalities between sums in which minima and maxima occur.

A sum with ``max(a, b)`` in it is the sum with `a` or the one with `b` in its place: the larger of
the two, or the smaller one if it is subtracted. So ``max(i - 1, 0) <= max(i + j - 1, 0)`` follows
from ``i - 1 <= i + j - 1`` and ``0 <= 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tilewright.arith import Analyzer
from tilewright.arith.linear import LinearForm
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Max, Min, Var
from tilewright.ir.rewrite import rewrite
from tilewright.ir.structural import structural_equal
from tilewright.tir.transform.analysis.affine import Product, affine, difference, to_expr

Value = TypeVar("Value", bool, float)

CASES = 4
"""How many minima and maxima are looked into; each doubles the work."""


def at_most(small: Expr, large: Expr, analyzer: Analyzer) -> bool:
    """Whether ``small <= large`` is known."""
    if analyzer.can_prove(small <= large):
        return True
    form, whole = difference(small, large), as_expr(small - large)

    def holds(value: Expr) -> bool:
        return analyzer.can_prove(value <= 0)

    if _extremum(form) is not None and _by_cases(form, whole.dtype, CASES, holds, all, any):
        return True
    named = _with_names(whole)
    return named is not whole and holds(named)


def _with_names(expr: Expr) -> Expr:
    """An expression with a variable in place of each minimum and maximum, also in the terms of
    others, as in ``min(n, 64) <= (min(n, 64) + 5) // 6 * 6``."""
    names: list[tuple[Expr, Var]] = []

    def name(extremum: Expr) -> Expr:
        for known, var in names:
            if structural_equal(known, extremum):
                return var
        names.append((extremum, Var("extremum", extremum.dtype)))
        return names[-1][1]

    return rewrite(expr, {Min: name, Max: name})


def upper_bound(expr: Expr, analyzer: Analyzer) -> float:
    """A constant that `expr` never exceeds; infinite if none is known."""

    def bound(value: Expr) -> float:
        return analyzer.const_int_bound(value).max_value

    return min(bound(expr), _by_cases(affine(expr), expr.dtype, CASES, bound, max, min))


def _by_cases(
    form: LinearForm,
    dtype: DType,
    depth: int,
    of_case: Callable[[Expr], Value],
    of_larger: Callable[[Iterable[Value]], Value],
    of_smaller: Callable[[Iterable[Value]], Value],
) -> Value:
    """What is known about a sum, from what is known about sums without minima and maxima."""
    key = _extremum(form) if depth else None
    if key is None:
        return of_case(to_expr(form, dtype))
    coefficient = form.terms[key]
    rest = LinearForm({k: n for k, n in form.terms.items() if k is not key}, form.constant)
    (extremum,) = key.factors
    assert isinstance(extremum, (Min, Max))
    cases = [rest.plus(affine(side), coefficient) for side in (extremum.a, extremum.b)]
    combine = of_larger if _is_larger(key, coefficient) else of_smaller
    return combine([_by_cases(c, dtype, depth - 1, of_case, of_larger, of_smaller) for c in cases])


def _extremum(form: LinearForm) -> Product | None:
    """A term that is a multiple of a minimum or a maximum.

    Those that stand for the larger case come first: for each of its cases, another one of the
    smaller cases may serve.
    """
    found = [
        term
        for term in form.terms
        if isinstance(term, Product) and isinstance(term.factors[0], (Min, Max))
        if len(term.factors) == 1
    ]
    return min(found, key=lambda term: not _is_larger(term, form.terms[term]), default=None)


def _is_larger(term: Product, coefficient: int) -> bool:
    """Whether a multiple of a minimum or a maximum is the larger one of its cases."""
    return isinstance(term.factors[0], Max) == (coefficient > 0)
