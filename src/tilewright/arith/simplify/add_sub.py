"""Canonical forms of sums, differences and products."""

from __future__ import annotations

import itertools
from typing import Any

from tilewright.arith.bounds import fits, is_nonzero, linear_bounds
from tilewright.arith.linear import Terms, collect
from tilewright.arith.simplify.division import differ_by_multiple
from tilewright.arith.simplify.expand import cancel_products
from tilewright.arith.simplify.rules import SumRule, SumRuleTable
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.convert import wrap_int
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Add,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    SizeVar,
    Sub,
    Var,
)
from tilewright.ir.folding import fold_constants

RECOMBINE = [
    SumRule("x // c1", "c1", "x % c1", "x", "c1 != 0"),
    SumRule("x // c1 % c2", "c1", "x % c1", "x % (c1 * c2)", "c1 > 0 and c2 > 0"),
    SumRule("x // c1", "c3", "x // c2 % c3", "x // c2", "c2 > 0 and c3 > 0 and c1 == c2 * c3"),
    SumRule("x // c1", "c1 // c2", "x % c1 // c2", "x // c2", "c1 > 0 and c2 > 0 and c1 % c2 == 0"),
    SumRule("x % c1 // c2", "c2", "x % c2", "x % c1", "c1 > 0 and c2 > 0 and c1 % c2 == 0"),
]
_RECOMBINE = SumRuleTable(RECOMBINE)

MOST_FACTORS = 16
"""Of a product whose factors are taken together; one of more has two factors, as it is written."""
MOST_PAIRS = 1024
"""Pairs of quotients and remainders in a sum that are compared, for sums of very many."""


def simplify_sum(s: Simplifier, expr: Any) -> Expr:
    """An `Add`, `Sub` or `Mul` node."""
    dtype: DType = expr.dtype
    if dtype.lanes != 1 or not (dtype.is_int or dtype.is_uint):
        return combine(s, expr.__class__, s(expr.a), s(expr.b))
    terms: Terms = {}
    constant = collect(expr, 1, terms, s.add_simplified)
    if s.facts.values:
        constant += _replace_variables(s, terms)
    result = sum_of(s, terms, constant, dtype)
    if result is None:
        return _as_written(s, expr)
    return result


def combine(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """``kind(a, b)`` of simplified operands, for `Add`, `Sub` and `Mul` of numbers."""
    dtype = a.dtype
    if not dtype.is_integral or dtype.is_bool:
        return _combine_floats(s, kind, a, b)
    if dtype.lanes != 1:
        return simplify_vector(s, kind, a, b)
    terms: Terms = {}
    constant = collect(kind(a, b), 1, terms, s.add_simplified)
    result = sum_of(s, terms, constant, dtype)
    return s.make(kind, a, b) if result is None else result


def _as_written(s: Simplifier, expr: Any) -> Expr:
    """`expr` with its operands simplified, and nothing taken together."""
    return s.make(expr.__class__, s(expr.a), s(expr.b))


def _replace_variables(s: Simplifier, terms: Terms) -> int:
    """Put in what variables stand for; returns what that adds to the constant."""
    constant = 0
    for term in list(terms):
        value = s.facts.values.get(term)
        if value is not None:
            constant += collect(s(value), terms.pop(term), terms)
    return constant


def sum_of(s: Simplifier, terms: Terms, constant: int, dtype: DType) -> Expr | None:
    """The simplified sum; None if its terms must stay as they are written.

    That is so if they have effects, if taking them together would remove an evaluation that may
    fail, or if a coefficient leaves the dtype.
    """
    divisions = products = False
    plain = True
    for term in terms:
        kind = term.__class__
        if kind is Var or kind is SizeVar:
            continue
        plain = False
        if kind is FloorDiv or kind is FloorMod:
            divisions = True
        elif kind is Mul:
            products = True
    if plain and dtype.is_int and dtype.bits >= 32:
        # By far the most common sums; nothing below applies to them.
        return s.sum(terms, constant, dtype) if _representable(terms, constant, dtype) else None
    if not s.pure(terms):
        return None
    if len(terms) > 1:
        if divisions:
            constant += _recombine(s, terms)
        if products:
            constant += _recombine_products(s, terms)
            constant += cancel_products(s, terms)
    if dtype.is_uint:
        terms, constant = _unsigned_form(s, terms, constant, dtype)
    elif dtype.bits < 32:
        # Arithmetic on narrow integers is modular, so coefficients may wrap around.
        terms = {term: wrap_int(factor, dtype) for term, factor in terms.items()}
        constant = wrap_int(constant, dtype)
    for term, factor in terms.items():
        if factor == 0 and not s.total(term):
            return None
    if not dtype.is_uint and not _representable(terms, constant, dtype):
        return None
    return s.sum({t: f for t, f in terms.items() if f}, constant, dtype)


def _unsigned_form(s: Simplifier, terms: Terms, constant: int, dtype: DType) -> tuple[Terms, int]:
    """The form modulo the size of the type, with differences where those do not wrap around."""
    modulus = dtype.max_int + 1
    signed = {term: (f + modulus // 2) % modulus - modulus // 2 for term, f in terms.items()}
    constant %= modulus
    if fits(linear_bounds(s.facts, signed, constant - modulus), dtype):
        return signed, constant - modulus
    if constant == 0 and signed and all(factor < 0 for factor in signed.values()):
        first = next(iter(signed))
        signed[first] += modulus
    return signed, constant


def _representable(terms: Terms, constant: int, dtype: DType) -> bool:
    least, most = dtype.min_int, dtype.max_int
    if not least <= constant <= most:
        return False
    for factor in terms.values():  # noqa: SIM110 (twice as fast as a generator)
        if not least <= factor <= most:
            return False
    return True


def _recombine(s: Simplifier, terms: Terms) -> int:
    """Apply `RECOMBINE` to the terms as often as possible; returns the change of the constant.

    After `MOST_PAIRS` attempts the terms stay as they are.
    """
    constant, attempts = 0, 0
    found = _recombined_pair(s, terms, MOST_PAIRS)
    while found is not None:
        pair, result, more = found
        attempts += more
        constant += replace_terms(terms, pair, result, terms[pair[1]])
        found = _recombined_pair(s, terms, MOST_PAIRS - attempts)
    return constant


def _recombined_pair(
    s: Simplifier, terms: Terms, attempts: int
) -> tuple[tuple[Expr, Expr], Expr, int] | None:
    """The first two terms that a rule makes one, what it makes of them, and how many were tried.

    None if `attempts` pairs have no such terms.
    """
    parts = [t for t in terms if t.__class__ is FloorDiv or t.__class__ is FloorMod]
    pairs = ((first, second) for second in parts if terms[second] for first in parts)
    for tried, (first, second) in enumerate(itertools.islice(pairs, max(attempts, 0)), 1):
        if first is second:
            continue
        factors = terms[first], terms[second]
        found = _RECOMBINE.apply(s, first, second, *factors)
        if found is None:
            same = _of_one_number(s, first, second)
            if same is not None:
                found = _RECOMBINE.apply(s, first, same, *factors)
        if found is not None:
            return (first, second), found, tried
    return None


def _of_one_number(s: Simplifier, first: Any, second: Any) -> Expr | None:
    """`second`, a part of a number, as a part of the number that `first` is a part of.

    ``z % c`` is ``x % c`` where ``x - z`` is a multiple of ``c``.
    """
    remainder = second.a if second.__class__ is FloorDiv else second
    if remainder.__class__ is not FloorMod or remainder.b.__class__ is not IntImm:
        return None
    number, divisor = first.a, remainder.b
    if {first.__class__, number.__class__} == {FloorDiv, FloorMod}:
        number = number.a
    if number is remainder.a or not divisor.value:
        return None
    if not differ_by_multiple(s, number, remainder.a, divisor.value):
        return None
    same = s.make(FloorMod, number, divisor)
    return same if second is remainder else s.make(FloorDiv, same, second.b)


def replace_terms(terms: Terms, old: tuple[Expr, ...], found: Expr, factor: int) -> int:
    """Replace the terms `old` by ``factor * found``, at the place of the first of them.

    Returns what that adds to the constant.
    """
    rest, gone = dict(terms), set(old)
    terms.clear()
    constant = 0
    placed = False
    for term, value in rest.items():
        if term not in gone:
            terms[term] = terms.get(term, 0) + value
        elif not placed:
            constant = collect(found, factor, terms)
            placed = True
    return constant


def _recombine_products(s: Simplifier, terms: Terms) -> int:
    """``x // y * y + x % y`` becomes ``x`` for a divisor that is not constant.

    The quotient's term is a product of the factors of ``x // y`` and of ``y``. Both sides divide by
    ``y``, so ``y`` must be known to be different from 0.
    """
    constant = 0
    remainders: list[Any] = [term for term in terms if term.__class__ is FloorMod]
    for second in remainders:
        x, y = second.a, second.b
        if second not in terms or y.__class__ is IntImm:
            continue
        quotient = s.make(FloorDiv, x, y)
        first = s.product((quotient, *s.factors.get(y, (y,))))
        if terms.get(first) == terms[second] != 0 and is_nonzero(s.facts, y, x):
            constant += replace_terms(terms, (first, second), x, terms[second])
    return constant


def _combine_floats(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """Floats: only what is exact for NaN, infinities and signed zeros."""
    folded = fold_constants(kind, a, b)
    if folded is not None:
        return s.intern(folded)
    if kind is Sub and is_positive_zero(b):
        return a
    if kind is Mul:
        if b.__class__ is FloatImm and b.value == 1.0:  # type: ignore[attr-defined]
            return a
        if a.__class__ is FloatImm and a.value == 1.0:  # type: ignore[attr-defined]
            return b
    if a.dtype.lanes != 1:
        return simplify_vector(s, kind, a, b)
    return s.make(kind, a, b)


def is_positive_zero(expr: Expr) -> bool:
    """Whether `expr` is the float constant 0.0, and not -0.0."""
    return expr.__class__ is FloatImm and str(expr.value) == "0.0"  # type: ignore[attr-defined]


for _kind in (Add, Sub):
    Simplifier.handlers[_kind] = simplify_sum
    Simplifier.constructors[_kind] = lambda s, a, b, _kind=_kind: combine(s, _kind, a, b)


def simplify_mul(s: Simplifier, expr: Any) -> Expr:
    """A `Mul` node."""
    if expr.a.__class__ is IntImm or expr.b.__class__ is IntImm:
        return simplify_sum(s, expr)
    return multiply(s, s(expr.a), s(expr.b))


def multiply(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``a * b`` of simplified operands."""
    dtype = a.dtype
    if dtype.lanes != 1 or not (dtype.is_int or dtype.is_uint):
        return combine(s, Mul, a, b)
    if b.__class__ is IntImm:
        return _multiple(s, a, b)
    if a.__class__ is IntImm:
        return _multiple(s, b, a)
    (x, p), (y, q) = _split_constant(s, a), _split_constant(s, b)
    factors = s.factors.get(x, (x,)) + s.factors.get(y, (y,))
    if len(factors) > MOST_FACTORS or not s.pure({x: p, y: q}):
        return s.make(Mul, a, b)
    result = sum_of(s, {s.product(factors): p * q}, 0, dtype)
    return s.make(Mul, a, b) if result is None else result


def _multiple(s: Simplifier, a: Expr, constant: Any) -> Expr:
    terms: Terms = {}
    rest = collect(a, constant.value, terms)
    result = sum_of(s, terms, rest, a.dtype)
    return s.make(Mul, a, constant) if result is None else result


def _split_constant(s: Simplifier, expr: Expr) -> tuple[Expr, int]:
    """``x * c`` as ``(x, c)``."""
    if expr.__class__ is Mul and expr.b.__class__ is IntImm:  # type: ignore[attr-defined]
        return expr.a, expr.b.value  # type: ignore[attr-defined]
    return expr, 1


Simplifier.handlers[Mul] = simplify_mul
Simplifier.constructors[Mul] = multiply
