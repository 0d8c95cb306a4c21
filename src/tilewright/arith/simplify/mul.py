"""Products: constants go to the coefficient, the other factors into one sorted product."""

from __future__ import annotations

from typing import Any

from tilewright.arith.linear import Terms, collect
from tilewright.arith.simplify.add_sub import combine, simplify_sum, sum_of
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir.expr import Expr, IntImm, Mul


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
    if not s.pure({x: p, y: q}):
        return s.make(Mul, a, b)
    product = s.product(s.factors.get(x, (x,)) + s.factors.get(y, (y,)))
    result = sum_of(s, {product: p * q}, 0, dtype)
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
