"""Expansions of mathematical functions evaluated over arrays by numpy, one sample per element."""

from __future__ import annotations

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    Cast,
    Div,
    FloatImm,
    IntImm,
    Let,
    Mul,
    Not,
    Or,
    Select,
    Shuffle,
    StringImm,
    Sub,
    Var,
)
from tilewright.ir.op import Op
from tilewright.tir.transform.lower_math import expand_call

_BINARY = {
    Add: np.add, Sub: np.subtract, Mul: np.multiply, Div: np.divide,
    LT: np.less, LE: np.less_equal, GT: np.greater, GE: np.greater_equal,
    EQ: np.equal, NE: np.not_equal, And: np.logical_and, Or: np.logical_or,
}  # fmt: skip

_CALLS = {
    "fabs": np.abs, "sqrt": np.sqrt, "copysign": np.copysign, "floor": np.floor,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "lookup": lambda index, table: table[index & 31],
    "if_then_else": np.where, "any_lane": lambda condition: condition,
}  # fmt: skip

_PART = 16384
"""Elements that are evaluated together."""


def evaluate_function(name, dtype, *arguments, **machine):
    """`tir.<name>` of scalars of `dtype`, expanded, for each element of the arrays."""
    dtype = DType(dtype)
    params = [Var(letter, dtype) for letter in "xy"[: len(arguments)]]
    call = Call(dtype, Op.get(f"tir.{name}"), tuple(params))
    expanded = expand_call(call, **machine)
    # In parts whose intermediate arrays stay in the caches.
    starts = range(0, len(arguments[0]), _PART)
    parts = ([argument[start : start + _PART] for argument in arguments] for start in starts)
    with np.errstate(all="ignore"):
        return np.concatenate(
            [evaluate(expanded, dict(zip(params, part, strict=True))) for part in parts]
        )


def evaluate(expr, values):
    """`expr` where each variable has the array of `values`; both sides of a choice are computed."""
    kind = type(expr)
    if kind is Var:
        return values[expr]
    if kind in (IntImm, FloatImm):
        return expr.dtype.numpy.type(expr.value)
    if kind is StringImm:
        return expr.value
    if kind is Let:
        values[expr.var] = evaluate(expr.value, values)
        return evaluate(expr.body, values)
    if kind in _BINARY:
        return _BINARY[kind](evaluate(expr.a, values), evaluate(expr.b, values))
    if kind is Not:
        return np.logical_not(evaluate(expr.a, values))
    if kind is Select:
        parts = (expr.condition, expr.true_value, expr.false_value)
        return np.where(*(evaluate(part, values) for part in parts))
    if kind is Cast:
        return np.asarray(evaluate(expr.value, values)).astype(expr.dtype.numpy)
    if kind is Shuffle:
        return np.array([vector.value for vector in expr.vectors], expr.dtype.element.numpy)
    assert kind is Call, f"an expansion must not contain a {kind.__name__}"
    return _call(expr, [evaluate(argument, values) for argument in expr.args])


def _call(call, arguments):
    name = call.op.name.removeprefix("tir.")
    if name == "fma":
        return _fma(*arguments)
    if name == "ldexp":
        return _scaled(*arguments)
    if name == "reinterpret":
        return np.ascontiguousarray(arguments[0]).view(call.dtype.numpy)
    if name == "call_pure_extern":
        return getattr(np, arguments[0])(arguments[1])
    return _CALLS[name](*arguments)


def _scaled(x, exponent):
    """x * 2**exponent, of a float that is a whole number, or not finite."""
    limited = np.nan_to_num(np.clip(exponent, -4000, 4000))
    return np.where(np.isnan(exponent), exponent, np.ldexp(x, limited.astype(np.int32)))


def _fma(x, y, z):
    """x * y + z, computed with more bits than the result has."""
    if np.asarray(x).dtype == np.float32:
        # The product of two float32 is exact in float64.
        return np.float32(np.multiply(x, y, dtype=np.float64) + z)
    product = x * y
    # The exact product is `product + low` (T. J. Dekker, 1971).
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    low = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    # And the exact sum of `product` and `z` is `total + rest` (D. E. Knuth, 1969).
    total = product + z
    added = total - product
    rest = (product - (total - added)) + (z - added) + low
    return np.where(np.isfinite(rest), total + rest, total)


def _halves(x):
    """Two float64 of 26 bits whose sum is x."""
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high
