"""Quotients and remainders of division that rounds down."""

from __future__ import annotations

import math
from typing import Any

from tilewright.arith.bounds import is_nonzero, linear_bounds
from tilewright.arith.linear import Terms, collect
from tilewright.arith.modular import modular_of, multiple_of
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.symbolic import split_by_divisor, within
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, IntImm
from tilewright.ir.folding import fold_constants


def simplify_floordiv(s: Simplifier, expr: Any) -> Expr:
    """A `FloorDiv` node."""
    return floordiv(s, s(expr.a), s(expr.b))


def floordiv(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``a // b`` of simplified operands."""
    direct = vector_or_constant(s, FloorDiv, a, b)
    if direct is not None:
        return direct
    if b.__class__ is not IntImm:
        return _floordiv_by_symbol(s, a, b)
    divisor: int = b.value  # type: ignore[attr-defined]
    if divisor == 1:
        return a
    if divisor > 1:
        found = _floordiv_by_constant(s, a, divisor)
        if found is not None:
            return found
    return s.make(FloorDiv, a, b)


def vector_or_constant(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr | None:
    """The division `kind` of vectors, of floats, or of two constants; None for any other."""
    dtype = a.dtype
    if dtype.lanes != 1 or not (dtype.is_int or dtype.is_uint):
        return simplify_vector(s, kind, a, b)
    folded = fold_constants(kind, a, b)
    return None if folded is None else s(folded)


def take_multiples(terms: Terms, constant: int, divisor: int) -> tuple[Terms, int, Terms, int]:
    """``terms + constant`` as ``divisor * (quotient + q) + (rest + r)``.

    The constant is split only if nothing else remains, so that no division is made larger.
    """
    quotient: Terms = {}
    rest: Terms = {}
    for term, factor in terms.items():
        if factor % divisor == 0:
            quotient[term] = factor // divisor
        else:
            rest[term] = factor
    if rest:
        return quotient, 0, rest, constant
    return quotient, constant // divisor, rest, constant % divisor


def low_part(s: Simplifier, terms: Terms, constant: int, divisor: int) -> tuple[int, Terms, Terms]:
    """A digit position `g` of ``terms + constant``, with the terms above and below it.

    `g` divides `divisor` and every upper term, and ``lower + constant % g`` is in ``[0, g)``. The
    largest such `g` is chosen; it is 1 if there is none.
    """
    multiples = {term: multiple_of(s.facts, term, factor) for term, factor in terms.items()}
    candidates = {math.gcd(multiple, divisor) for multiple in multiples.values()} - {1}
    for g in sorted(candidates, reverse=True):
        below = {term: f for term, f in terms.items() if multiples[term] % g}
        low, high = linear_bounds(s.facts, below, constant % g)
        if low >= 0 and high < g:
            return g, {t: f for t, f in terms.items() if t not in below}, below
    return 1, terms, {}


def _floordiv_by_constant(s: Simplifier, a: Expr, divisor: int) -> Expr | None:
    """``a // divisor`` for a divisor above 1, or None if nothing applies."""
    dtype = a.dtype
    terms, constant = s.terms_of(a)
    if not s.exact_form(terms, constant, dtype):
        return None
    quotient, whole, rest, constant = take_multiples(terms, constant, divisor)
    if not s.exact_form(rest, constant, dtype):
        return None
    changed = bool(quotient) or not rest
    decided = _decided(s, rest, constant, divisor)
    if decided is not None:
        more, whole = decided
        return s.sum(_merged(quotient, more), whole, dtype)
    while rest:
        low, high = linear_bounds(s.facts, rest, constant)
        if low // divisor == high // divisor and all(map(s.total, rest)):
            rest, whole, changed = {}, low // divisor, True
            break
        g, upper, below = low_part(s, rest, constant, divisor)
        if g == 1 or not all(map(s.total, below)):
            break
        if not all(factor % g == 0 for factor in upper.values()):
            changed |= bool(below)
            rest, constant = upper, constant - constant % g
            break
        rest = {term: factor // g for term, factor in upper.items()}
        constant, divisor, changed = constant // g, divisor // g, True
        if divisor == 1:
            quotient = _merged(quotient, rest)
            whole, rest = constant, {}
    if rest:
        nested = _nested(s, rest, constant, divisor, dtype)
        if nested is None:
            if not changed:
                return None
            nested = s.make(FloorDiv, s.sum(rest, constant, dtype), s.constant(divisor, dtype))
        inner, whole = s.terms_of(nested)
        quotient = _merged(quotient, inner)
    return s.sum(quotient, whole, dtype)


def _decided(s: Simplifier, terms: Terms, constant: int, divisor: int) -> tuple[Terms, int] | None:
    """The quotient where bounds decide what multiples of the divisor leave, as in ``41 * i // 40``
    for ``i`` below 40."""
    if all(-divisor < factor < divisor for factor in terms.values()):
        return None
    left = {term: factor % divisor for term, factor in terms.items()}
    low, high = linear_bounds(s.facts, left, constant)
    if low // divisor != high // divisor or not all(map(s.total, terms)):
        return None
    multiples = {term: factor // divisor for term, factor in terms.items()}
    return multiples, low // divisor


def _merged(quotient: Terms, other: Terms) -> Terms:
    merged = dict(quotient)
    for term, factor in other.items():
        merged[term] = merged.get(term, 0) + factor
    return {term: factor for term, factor in merged.items() if factor}


def _nested(s: Simplifier, terms: Terms, constant: int, divisor: int, dtype: Any) -> Expr | None:
    """``(x // c + constant) // divisor`` is ``(x + constant * c) // (c * divisor)``."""
    if len(terms) != 1:
        return None
    term: Any
    ((term, factor),) = terms.items()
    if factor != 1 or term.__class__ is not FloorDiv or term.b.__class__ is not IntImm:
        return None
    inner: int = term.b.value
    if inner <= 0 or inner * divisor > dtype.max_int:
        return None
    shifted, offset = s.terms_of(term.a)
    offset += constant * inner
    if not dtype.min_int <= offset <= dtype.max_int:
        return None
    if constant and not s.exact_form(shifted, offset, dtype):
        return None
    dividend = s.sum(shifted, offset, dtype)
    return floordiv(s, dividend, s.constant(inner * divisor, dtype))


def _floordiv_by_symbol(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """Division by what is not constant: multiples of it leave, and a smaller rest vanishes."""
    unchanged = s.make(FloorDiv, a, b)
    if not is_nonzero(s.facts, b, a) or not s.total(b):
        return unchanged
    terms, constant = s.terms_of(a)
    split = split_by_divisor(s, terms, constant, b)
    if split is None:
        return unchanged
    quotient, whole, rest, constant = split
    remainder = s.sum(rest, constant, a.dtype)
    if within(s, remainder, b) and all(map(s.total, rest)):
        return s.sum(quotient, whole, a.dtype)
    if not quotient and not whole:
        return unchanged
    inner = s.make(FloorDiv, remainder, b)
    return s.sum(_merged(quotient, {inner: 1}), whole, a.dtype)


Simplifier.handlers[FloorDiv] = simplify_floordiv
Simplifier.constructors[FloorDiv] = floordiv


def simplify_floormod(s: Simplifier, expr: Any) -> Expr:
    """A `FloorMod` node."""
    return floormod(s, s(expr.a), s(expr.b))


def floormod(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``a % b`` of simplified operands."""
    direct = vector_or_constant(s, FloorMod, a, b)
    if direct is not None:
        return direct
    if b.__class__ is not IntImm:
        return _floormod_by_symbol(s, a, b)
    divisor: int = b.value  # type: ignore[attr-defined]
    if divisor == 1 and s.total(a):
        return s.constant(0, a.dtype)
    if divisor > 1:
        found = _floormod_by_constant(s, a, divisor)
        if found is not None:
            return found
    return s.make(FloorMod, a, b)


def terms_modulo(
    s: Simplifier, terms: Terms, constant: int, divisor: int
) -> tuple[Terms, int, bool]:
    """The terms modulo `divisor`; whether something changed.

    A term ``x % c`` whose multiple by ``c`` is a multiple of the divisor is as good as ``x``. So is
    ``x // c * k + x % c`` where ``k - c`` is one.
    """
    rest: Terms = {}
    changed = False
    left = dict(terms)  # without quotients that were put together with a remainder
    for term, factor in terms.items():
        if term not in left:
            continue
        quotient = _quotient_beside(s, term, factor, left, divisor)
        if quotient is not None:
            if quotient in rest:
                rest[quotient] -= terms[quotient]
            del left[quotient]
            constant += collect(quotient.a, factor, rest)
            changed = True
            continue
        if factor % divisor == 0:
            changed = True
            continue
        inner = _modulus(term)
        if inner and factor * inner % divisor == 0 and s.exact(term.a):
            constant += collect(term.a, factor, rest)
            changed = True
        else:
            small = factor % divisor
            if factor < 0 and -factor % divisor < small:
                small = -(-factor % divisor)
            changed |= small != factor
            rest[term] = rest.get(term, 0) + small
    changed |= not 0 <= constant < divisor
    return rest, constant % divisor, changed


def _quotient_beside(
    s: Simplifier, term: Any, factor: int, terms: Terms, divisor: int
) -> FloorDiv | None:
    """The term ``x // c`` that makes a multiple of ``x`` with `term`, which is ``x % c``, modulo
    `divisor`."""
    inner = _modulus(term)
    if not inner or not s.exact(term.a):
        return None
    for quotient, beside in terms.items():
        if quotient.__class__ is not FloorDiv or not beside or quotient.b is not term.b:
            continue
        if (beside - factor * inner) % divisor or not s.exact(quotient.a):
            continue
        if quotient.a is term.a or differ_by_multiple(s, quotient.a, term.a, inner):
            return quotient
    return None


def differ_by_multiple(s: Simplifier, first: Expr, second: Expr, divisor: int) -> bool:
    """Whether the first number may take the place of the second one in a remainder: their
    difference is known to be a multiple of the divisor.

    The remainder of a number may have been simplified already: ``(i * 4 + j) % 3`` is
    ``(i + j) % 3``, and ``(i % 6 * 4 + j) % 3``, too.
    """
    if not s.total(second):
        return False
    (left, constant), (right, other) = s.terms_of(first), s.terms_of(second)
    exact = s.exact_form(left, constant, first.dtype) and s.exact_form(right, other, second.dtype)
    if not exact:
        return False
    apart = {term: left.get(term, 0) - right.get(term, 0) for term in (*left, *right)}
    apart, offset, _ = terms_modulo(s, apart, constant - other, divisor)
    return not offset and not any(factor % divisor for factor in apart.values())


def _modulus(term: Any) -> int:
    """``c`` of a term ``x % c`` with a positive constant, else 0."""
    if term.__class__ is FloorMod and term.b.__class__ is IntImm and term.b.value > 0:
        return term.b.value
    return 0


def _floormod_by_constant(s: Simplifier, a: Expr, divisor: int) -> Expr | None:
    """``a % divisor`` for a divisor above 1, or None if nothing applies."""
    dtype = a.dtype
    coeff, base = modular_of(s.facts, a) if s.facts.remainders else (1, 0)
    if coeff % divisor == 0 and s.total(a):
        return s.constant(base % divisor, dtype)
    terms, constant = s.terms_of(a)
    if not s.exact_form(terms, constant, dtype):
        return None
    changed = False
    while True:
        rest, reduced, again = terms_modulo(s, terms, constant, divisor)
        if not again:
            break
        dropped = [t for t, f in terms.items() if f % divisor == 0]
        dropped += [t for t, f in rest.items() if f == 0]
        if not all(map(s.total, dropped)):
            return None
        rest = {term: factor for term, factor in rest.items() if factor}
        if not s.exact_form(rest, reduced, dtype):
            break
        terms, constant, changed = rest, reduced, True
    low, high = linear_bounds(s.facts, terms, constant)
    if low // divisor == high // divisor:
        return s.sum(terms, constant - low // divisor * divisor, dtype)
    g, upper, below = low_part(s, terms, constant, divisor)
    if g > 1 and upper and not (constant // g and constant % g):
        if all(factor % g == 0 for factor in upper.values()):
            return _split_at(s, upper, below, constant, g, divisor, dtype)
        if below:
            return _without_low(s, upper, below, constant, g, divisor, dtype)
    if not changed:
        return None
    return s.make(FloorMod, s.sum(terms, constant, dtype), s.constant(divisor, dtype))


def _without_low(
    s: Simplifier, upper: Terms, below: Terms, constant: int, g: int, divisor: int, dtype: Any
) -> Expr:
    """``(upper + below) % divisor`` as ``upper % divisor + below``."""
    low = constant % g
    high = s.make(FloorMod, s.sum(upper, constant - low, dtype), s.constant(divisor, dtype))
    return s.sum({high: 1} | below, low, dtype)


def _split_at(
    s: Simplifier, upper: Terms, below: Terms, constant: int, g: int, divisor: int, dtype: Any
) -> Expr:
    """``(upper + below) % divisor`` as ``upper // g % (divisor // g) * g + below``."""
    high = s.sum({term: factor // g for term, factor in upper.items()}, constant // g, dtype)
    digit = floormod(s, high, s.constant(divisor // g, dtype))
    terms: Terms = {}
    rest = collect(digit, g, terms)
    for term, factor in below.items():
        terms[term] = terms.get(term, 0) + factor
    return s.sum({t: f for t, f in terms.items() if f}, rest + constant % g, dtype)


def _floormod_by_symbol(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """Modulo what is not constant: multiples of it leave, and a smaller rest is the result."""
    unchanged = s.make(FloorMod, a, b)
    if not is_nonzero(s.facts, b, a) or not s.total(b):
        return unchanged
    terms, constant = s.terms_of(a)
    split = split_by_divisor(s, terms, constant, b)
    if split is None:
        return unchanged
    quotient, _, rest, constant = split
    if not all(map(s.total, quotient)):
        return unchanged
    remainder = s.sum(rest, constant, a.dtype)
    if within(s, remainder, b):
        return remainder
    return s.make(FloorMod, remainder, b)


Simplifier.handlers[FloorMod] = simplify_floormod
Simplifier.constructors[FloorMod] = floormod
