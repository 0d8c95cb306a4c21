"""Quotients and remainders of floats rounded down, by the exact remainder of `tir.fmod`.

The floor of ``a / b`` is not what ``//`` means: the quotient may have been rounded up to the next
whole number, as that of 1 and 0.1 is in float32. The formulas, their roundings and their zeros are
those of numpy.
"""

from __future__ import annotations

from tilewright.ir.arithmetic import logical_and, logical_or, select
from tilewright.ir.convert import cast
from tilewright.ir.dtype import FLOAT32
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, Let, Var
from tilewright.tir.op.math import copysign, floor, fmod


def expand_float_division(expr: FloorDiv | FloorMod) -> Expr:
    """A division of floats by simpler operators; one of integers as it is."""
    if not expr.dtype.is_float:
        return expr
    # Short floats have too few digits for the steps in between.
    working = FLOAT32 if expr.dtype.bits < 32 else expr.dtype.element
    dtype = working.with_lanes(expr.dtype.lanes)
    a, b, remainder = (Var(name, dtype) for name in ("a", "b", "remainder"))
    below = logical_and(remainder < 0.0, b > 0.0)
    is_other_sign = logical_or(below, logical_and(remainder > 0.0, b < 0.0))
    if isinstance(expr, FloorMod):
        moved = select(is_other_sign, remainder + b, remainder)
        result = select(remainder.equal(0.0), copysign(0.0, b), moved)
    else:
        result = _quotient(a, b, remainder, is_other_sign)
    result = Let(remainder, fmod(a, b), result)
    for variable, value in ((b, expr.b), (a, expr.a)):
        result = Let(variable, cast(dtype, value), result)
    return cast(expr.dtype, result)


def _quotient(a: Expr, b: Expr, remainder: Expr, is_other_sign: Expr) -> Expr:
    """What `remainder` leaves of `a`, divided by `b`: a whole number but for its rounding."""
    quotient, lower = Var("quotient", a.dtype), Var("lower", a.dtype)
    exact = (a - remainder) / b
    nearest = select(quotient - lower > 0.5, lower + 1.0, lower)
    nearest = Let(lower, floor(quotient), nearest)
    nearest = select(quotient.equal(0.0), copysign(0.0, a / b), nearest)
    nearest = Let(quotient, select(is_other_sign, exact - 1.0, exact), nearest)
    return select(b.equal(0.0), a / b, nearest)
