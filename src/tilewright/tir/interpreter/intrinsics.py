"""What each operator computes for scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tilewright.error import InterpreterError
from tilewright.ir.dtype import INT32, INT64, DType
from tilewright.tir.interpreter.number import (
    checked_shift,
    float_divide,
    float_max,
    float_min,
    from_bytes,
    fused_multiply_add,
    rounding,
    to_bytes,
    wrapping,
)


def _sigmoid(x: float) -> Any:
    # Both forms are exact identities; each is used where its exponential cannot overflow.
    small = np.exp(-np.abs(x))
    return 1 / (1 + small) if x >= 0 else small / (1 + small)


def _power(x: float, y: float) -> Any:
    # numpy takes the square root for y = 0.5, which is NaN for minus infinity, and C infinity.
    return math.inf if x == -math.inf and y == 0.5 else np.power(x, y)


FLOAT_UNARY: Final[dict[str, Callable[[float], Any]]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "exp_nonpositive": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: float_divide(1.0, float(np.sqrt(x))),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": math.erf,
    "sigmoid": _sigmoid,
    "fabs": abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "round": np.rint,
    "nearbyint": np.rint,
}
"""Functions of one float, computed in float64 and then rounded to the dtype."""

FLOAT_BINARY: Final[dict[str, Callable[[float, float], Any]]] = {
    "pow": _power,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": math.copysign,
}
"""Functions of two floats, computed in float64 and then rounded to the dtype."""

FLOAT_TESTS: Final[dict[str, Callable[[float], bool]]] = {
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
}

LANE_WISE: Final = frozenset(
    {*FLOAT_UNARY, *FLOAT_BINARY, *FLOAT_TESTS, "fma", "ldexp", "nextafter", "popcount", "clz",
     "shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
     "q_multiply_shift", "q_multiply_shift_per_axis", "likely"}
)  # fmt: skip
"""The operators (without ``tir.``) that apply to each lane alone."""


def scalar_function(name: str, dtype: DType, operand: DType) -> Callable[..., Any]:
    """The function of scalars that a lane-wise operator computes.

    `name` lacks ``tir.``; `dtype` and `operand` are the scalar types of the result and of the first
    operand.
    """
    if name in FLOAT_UNARY:
        round_result, unary = rounding(dtype), FLOAT_UNARY[name]
        return lambda x: round_result(float(unary(x)))
    if name in FLOAT_BINARY:
        round_result, binary = rounding(dtype), FLOAT_BINARY[name]
        return lambda x, y: round_result(float(binary(x, y)))
    if name in FLOAT_TESTS:
        return FLOAT_TESTS[name]
    if name in ("q_multiply_shift", "q_multiply_shift_per_axis"):
        return _q_multiply_shift if name == "q_multiply_shift" else _q_multiply_shift_per_axis
    return _with_dtype(name, dtype, operand)


def _with_dtype(name: str, dtype: DType, operand: DType) -> Callable[..., Any]:
    """The operators whose result depends on the width of the operands."""
    wrap = wrapping(dtype) if dtype.is_integral else None
    bits = operand.bits
    table: dict[str, Callable[..., Any]] = {
        "fma": lambda a, b, c: fused_multiply_add(a, b, c, dtype),
        "ldexp": lambda x, n: rounding(dtype)(_ldexp(x, n)),
        "nextafter": lambda x, y: float(np.nextafter(dtype.numpy.type(x), dtype.numpy.type(y))),
        "popcount": lambda x: bin(x & ((1 << bits) - 1)).count("1"),
        "clz": lambda x: bits - (x & ((1 << bits) - 1)).bit_length(),
        "shift_left": lambda a, b: wrap(checked_shift(a, b, bits, 1)),  # type: ignore[misc]
        "shift_right": lambda a, b: checked_shift(a, b, bits, -1),
        "bitwise_and": lambda a, b: a & b,
        "bitwise_or": lambda a, b: a | b,
        "bitwise_xor": lambda a, b: a ^ b,
        "bitwise_not": lambda a: wrap(~a),  # type: ignore[misc]
        "likely": lambda x: x,
    }
    return table[name]


def _ldexp(x: float, exponent: float) -> float:
    if not math.isfinite(exponent):
        return x * math.exp(exponent)
    try:
        return math.ldexp(x, int(exponent))
    except OverflowError:
        return math.copysign(math.inf, x)


def _q_multiply_shift(x: int, y: int, q: int, s: int) -> int:
    return _fixed_point(x, y, max(s, 0), q - min(s, 0))


def _q_multiply_shift_per_axis(
    x: int, y: int, ls: int, rs: int, q: int, has_left: bool, has_right: bool
) -> int:
    return _fixed_point(x, y, ls if has_left else 0, q + (rs if has_right else 0))


def _fixed_point(x: int, y: int, left: int, right: int) -> int:
    wrap = wrapping(INT64)
    product = wrap(wrap(x << left) * y)
    return wrapping(INT32)(wrap(product + (1 << (right - 1))) >> right)


# --- operators on whole values ----------------------------------------------------------------


def reinterpret(value: Any, source: DType, target: DType) -> Any:
    """The bits of `value` as a value of another dtype."""
    if source.is_handle or target.is_handle:
        raise InterpreterError("the address of memory has no numeric value here")
    return from_bytes(to_bytes(value, source), target)


def combine_lanes(operator: str, lanes: list[Any], dtype: DType) -> Any:
    """All lanes combined, the first half with the second half until one is left."""
    round_result = wrapping(dtype) if dtype.is_integral else rounding(dtype)
    combine = LANE_COMBINATIONS[operator]
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [
            round_result(combine(a, b)) for a, b in zip(lanes[:half], lanes[half:], strict=True)
        ]
    return lanes[0]


LANE_COMBINATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": float_min,
    "max": float_max,
}
"""What `reduce_lanes` does with two lanes."""


def dot_product(a: list[int], b: list[int], total: Any, dtype: DType) -> Any:
    """`total` plus the sums of the products of groups of lanes."""
    scalar, size = dtype.element, len(a) // dtype.lanes
    result = rounding(scalar) if scalar.is_float else wrapping(scalar)
    totals = total if dtype.lanes > 1 else [total]
    products = [x * y for x, y in zip(a, b, strict=True)]
    sums = [
        result(start + sum(products[size * n : size * (n + 1)])) for n, start in enumerate(totals)
    ]
    return sums if dtype.lanes > 1 else sums[0]


def matrix_product(a: list[int], b: list[int], total: list[Any], dtype: DType) -> Any:
    """`total` plus the products of each half of `a` with each half of `b`."""
    size = len(a) // 2
    rows = [*a[:size] * 2, *a[size:] * 2]
    return dot_product(rows, b * 2, total, dtype)
