"""Remainders: that an expression is ``base`` modulo ``coeff``, as for alignment."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from tilewright.arith.bounds import DATA, bounds_of, effects_of, fits
from tilewright.arith.facts import Facts
from tilewright.ir.dtype import INT32, INT64
from tilewright.ir.expr import (
    Add,
    Broadcast,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Select,
    SizeVar,
    Sub,
    Var,
)

Residue = tuple[int, int]
"""``(coeff, base)``: the value is ``base + k * coeff``; with coeff 0 it is the constant base."""

ANYTHING: Residue = (1, 0)


def residue(coeff: int, base: int) -> Residue:
    """The normal form: ``0 <= base < coeff``, unless coeff is 0."""
    coeff = abs(coeff)
    return (coeff, base % coeff) if coeff else (0, base)


def modular_of(facts: Facts, expr: Expr) -> Residue:
    """The largest `coeff` known for `expr` (integer), with its `base`."""
    kind = expr.__class__
    if kind is IntImm:
        return 0, expr.value  # type: ignore[attr-defined]
    if kind is Var or kind is SizeVar:
        return _variable(facts, expr)
    found = facts.modular_memo.get(expr)
    if found is None:
        rule = _RULES.get(kind)
        found = ANYTHING if rule is None else rule(facts, expr)
        if found[0] == 0 and not fits((found[1], found[1]), expr.dtype):
            found = ANYTHING
        known = facts.remainders.get(expr)
        if known is not None and (found[0] == 1 or known[0] % found[0] == 0):
            found = known
        facts.modular_memo[expr] = found
    return found


def _variable(facts: Facts, var: Expr) -> Residue:
    known = facts.remainders.get(var)
    if known is not None:
        return known
    value = facts.values.get(var)
    if value is not None:
        return modular_of(facts, value)
    low, high = facts.ranges.get(var, (0, 1))
    return (0, low) if low == high else ANYTHING


def _exact(facts: Facts, expr: Any, found: Residue) -> Residue:
    """`found`, weakened to a power of two where the arithmetic of `expr` may wrap around."""
    dtype = expr.dtype
    if (dtype is INT32 or dtype is INT64) and not effects_of(facts, expr) & DATA:
        return found
    if fits(bounds_of(facts, expr.a), dtype) and _result_fits(facts, expr):
        return found
    coeff = gcd(found[0], 1 << dtype.bits)
    return residue(coeff, found[1])


def _result_fits(facts: Facts, expr: Any) -> bool:
    (a, b), (c, d) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    if isinstance(expr, Mul):
        corners = (a * c, a * d, b * c, b * d)
        return fits((min(corners), max(corners)), expr.dtype)
    return fits((a + c, b + d) if isinstance(expr, Add) else (a - d, b - c), expr.dtype)


def _add(facts: Facts, expr: Any) -> Residue:
    (a, r), (b, s) = modular_of(facts, expr.a), modular_of(facts, expr.b)
    return _exact(facts, expr, residue(gcd(a, b), r + s))


def _sub(facts: Facts, expr: Any) -> Residue:
    (a, r), (b, s) = modular_of(facts, expr.a), modular_of(facts, expr.b)
    return _exact(facts, expr, residue(gcd(a, b), r - s))


def _mul(facts: Facts, expr: Any) -> Residue:
    (a, r), (b, s) = modular_of(facts, expr.a), modular_of(facts, expr.b)
    return _exact(facts, expr, residue(gcd(a * b, a * s, b * r), r * s))


def _floordiv(facts: Facts, expr: Any) -> Residue:
    (coeff, base), divisor = modular_of(facts, expr.a), expr.b
    if divisor.__class__ is IntImm and divisor.value > 0 and coeff % divisor.value == 0:
        return residue(coeff // divisor.value, base // divisor.value)
    return ANYTHING


def _floormod(facts: Facts, expr: Any) -> Residue:
    (coeff, base), (divisor, rest) = modular_of(facts, expr.a), modular_of(facts, expr.b)
    if divisor == 0 and rest > 0:
        common = gcd(coeff, rest)
        return (0, base % rest) if common == rest else residue(common, base)
    return ANYTHING


def _either(facts: Facts, x: Expr, y: Expr) -> Residue:
    (a, r), (b, s) = modular_of(facts, x), modular_of(facts, y)
    return residue(gcd(a, b, r - s), r)


def _minmax(facts: Facts, expr: Any) -> Residue:
    return _either(facts, expr.a, expr.b)


def _select(facts: Facts, expr: Any) -> Residue:
    return _either(facts, expr.true_value, expr.false_value)


def _cast(facts: Facts, expr: Any) -> Residue:
    source, target = expr.value.dtype, expr.dtype
    if not (source.is_int or source.is_uint) or not (target.is_int or target.is_uint):
        return ANYTHING
    coeff, base = modular_of(facts, expr.value)
    if fits(bounds_of(facts, expr.value), target):
        return coeff, base
    return residue(gcd(coeff, 1 << target.bits), base)


def _broadcast(facts: Facts, expr: Any) -> Residue:
    return modular_of(facts, expr.value)


_RULES: dict[type[Any], Callable[[Facts, Any], Residue]] = {
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    Min: _minmax,
    Max: _minmax,
    Select: _select,
    Cast: _cast,
    Broadcast: _broadcast,
}


def multiple_of(facts: Facts, term: Expr, factor: int) -> int:
    """The largest known number that divides ``factor * term``."""
    if not facts.remainders and (term.__class__ is Var or term.__class__ is SizeVar):
        return abs(factor)
    coeff, base = modular_of(facts, term)
    return abs(factor) * gcd(coeff, base)
