"""The value of an expression by numpy's own scalars: a second opinion on the interpreter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from tilewright.ir import (
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    DType,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    Sub,
    Var,
)
from tilewright.ir.expr import EQ, GE, GT, LE, LT, NE
from tilewright.tir import BufferLoad

_ARITHMETIC = {Add: np.add, Sub: np.subtract, Mul: np.multiply, Min: np.minimum, Max: np.maximum}
_COMPARE = {
    EQ: np.equal, NE: np.not_equal, LT: np.less, LE: np.less_equal, GT: np.greater,
    GE: np.greater_equal,
}  # fmt: skip
_BITS = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.invert, "shift_left": np.left_shift, "shift_right": np.right_shift,
}  # fmt: skip
_FLOATS = {
    "sqrt": np.sqrt, "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "nearbyint": np.rint, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite,
}  # fmt: skip


def evaluate(expr: Expr, values: Mapping[Any, Any]) -> np.ndarray:
    """The lanes of `expr`, as an array of its element type.

    `values` gives the values of variables, and the arrays of one-dimensional buffers.
    """
    with np.errstate(all="ignore"):
        result = np.atleast_1d(_evaluate(expr, dict(values)))
    return np.broadcast_to(result, (expr.dtype.lanes,)).astype(expr.dtype.numpy)


def _evaluate(expr: Any, values: dict[Any, Any]) -> np.ndarray:
    kind, numpy_type = type(expr), expr.dtype.numpy
    if isinstance(expr, Var):
        return np.atleast_1d(np.asarray(values[expr], numpy_type))
    if isinstance(expr, BufferLoad):
        return values[expr.buffer][_evaluate(expr.indices[0], values)]
    if isinstance(expr, (IntImm, FloatImm)):
        return np.array([expr.value]).astype(numpy_type)
    if isinstance(expr, Broadcast):
        return np.repeat(_evaluate(expr.value, values), expr.lanes)
    if isinstance(expr, Ramp):
        base, stride = (int(_evaluate(e, values)[0]) for e in (expr.base, expr.stride))
        return np.array([_wrap(base + i * stride, expr.dtype) for i in range(expr.lanes)])
    if isinstance(expr, Shuffle):
        lanes = np.concatenate([_evaluate(vector, values) for vector in expr.vectors])
        return lanes[[int(i) for i in expr.indices]]
    if isinstance(expr, Let):
        return _evaluate(expr.body, {**values, expr.var: _evaluate(expr.value, values)})
    operands = [_evaluate(child, values) for child in expr.children()]
    if isinstance(expr, Cast):
        return _convert(operands[0], expr.value.dtype, expr.dtype)
    if isinstance(expr, Select):
        return np.where(*operands).astype(numpy_type)
    if isinstance(expr, Call):
        return _call(expr, operands)
    if kind in _COMPARE:
        return _COMPARE[kind](*operands)
    if kind in (And, Or, Not):
        return {And: np.logical_and, Or: np.logical_or, Not: np.logical_not}[kind](*operands)
    if kind in _ARITHMETIC:
        return _ARITHMETIC[kind](*operands)
    return _divide(kind, *operands, expr.dtype)


def _wrap(value: int, dtype: DType) -> np.generic:
    return np.array(value & ((1 << dtype.bits) - 1), np.uint64).astype(dtype.numpy)[()]


def _divide(kind: type, a: np.ndarray, b: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype.is_float:
        return np.divide(a, b)
    result = []
    for x, y in np.broadcast(a, b):
        quotient = Fraction(int(x), int(y))
        whole = math.floor(quotient) if kind in (FloorDiv, FloorMod) else math.trunc(quotient)
        result.append(whole if kind in (FloorDiv, Div) else int(x) - whole * int(y))
    assert kind in (FloorDiv, FloorMod, Div, Mod)
    return np.array([_wrap(value, dtype) for value in result])


def _convert(value: np.ndarray, source: DType, target: DType) -> np.ndarray:
    narrow = target.bits == 16 and target.is_float
    if narrow and (source.bits == 64 or (source.is_integral and source.bits == 32)):
        # numpy would round twice: find the nearest of the neighbours exactly.
        return np.array([_nearest(x, target) for x in value])
    return value.astype(target.numpy)


def _nearest(value: Any, target: DType) -> np.generic:
    guess = np.array(value).astype(target.numpy)[()]
    if not np.isfinite(float(value)) or not np.isfinite(guess):
        return guess
    exact = Fraction(value.item())
    around = [guess, np.nextafter(guess, target.numpy.type(-np.inf)),
              np.nextafter(guess, target.numpy.type(np.inf))]  # fmt: skip
    finite = [x for x in around if np.isfinite(x)]
    # Of two that are as near, the one with the even last bit.
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint16)) & 1))


def _call(call: Call, operands: list[np.ndarray]) -> np.ndarray:
    name = call.op.name.removeprefix("tir.")
    if name in _BITS:
        return _BITS[name](*operands)
    if name in _FLOATS:
        return _FLOATS[name](*operands)
    if name == "if_then_else":
        return operands[1] if operands[0][0] else operands[2]
    if name == "popcount":
        mask = (1 << call.dtype.bits) - 1
        counts = [bin(int(x) & mask).count("1") for x in operands[0]]
        return np.array(counts, call.dtype.numpy)
    if name == "fma":
        rows = np.broadcast(*operands)
        return np.array([_fma(row, call.dtype.element) for row in rows])
    raise NotImplementedError(call.op.name)


def _fma(row: tuple[Any, ...], dtype: DType) -> np.generic:
    a, b, c = (float(x) for x in row)
    approximate = np.array(a * b + c).astype(dtype.numpy)[()]
    if not all(map(math.isfinite, (a, b, c))):
        return approximate
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if np.isfinite(approximate):
        # Rounded to float64 and then to the type: at most one step away from the nearest number.
        approximate = np.array(float(exact)).astype(dtype.numpy)[()]
    if not np.isfinite(approximate):
        return approximate
    step = dtype.numpy.type(np.inf)
    around = [approximate, np.nextafter(approximate, step), np.nextafter(approximate, -step)]
    finite = [x for x in around if np.isfinite(x)]
    bits = f"u{dtype.numpy.itemsize}"
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(bits)) & 1))
