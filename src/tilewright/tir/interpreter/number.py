"""Numbers of each dtype, as Python integers and floats: rounding, wrapping, conversion.

An integer or bool is a Python int or bool in the range of its dtype; a float is a Python float that
is a value of its dtype. The sum, difference, product, quotient and square root of two such floats,
computed in float64 and then rounded, is the correctly rounded result for every narrower dtype
(Figueroa, "When is double rounding innocuous?", 1995).
"""

from __future__ import annotations

import ctypes
import functools
import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tilewright.error import InterpreterError
from tilewright.ir.dtype import DType
from tilewright.ir.folding import trunc_div_int

_FLOAT_FORMATS: Final = {
    # precision in bits with the implicit one, exponent of the least subnormal, largest value,
    # and what lies beyond that.
    "float16": (11, -24, 65504.0, math.inf),
    "bfloat16": (8, -133, float.fromhex("0x1.fep127"), math.inf),
    "e4m3_float8": (4, -9, 448.0, math.nan),
    "e5m2_float8": (3, -16, 57344.0, math.inf),
}


def rounding(dtype: DType) -> Callable[[float], float]:
    """The function that rounds a float64 to the nearest value of a scalar float type."""
    if dtype.bits == 64:
        return float
    if dtype.bits == 32:
        return _round_float32
    precision, least, largest, beyond = _FLOAT_FORMATS[str(dtype)]

    def round_float(x: float) -> float:
        if x == 0 or not math.isfinite(x):
            return x if x == 0 or math.isnan(x) else math.copysign(beyond, x)
        exponent = max(math.frexp(x)[1] - precision, least)
        # Scaling by a power of two is exact, and Python rounds halves to even.
        digits = round(math.ldexp(x, -exponent))
        if exponent + digits.bit_length() > 1024:  # too large even for float64
            return math.copysign(beyond, x)
        rounded = math.ldexp(digits, exponent)
        if abs(rounded) > largest:
            return math.copysign(beyond, x)
        return rounded if rounded else math.copysign(0.0, x)

    return round_float


C_FLOAT: Final = ctypes.c_float


def _round_float32(x: float) -> float:
    return C_FLOAT(x).value


def wrapping(dtype: DType) -> Callable[[int], int]:
    """The function that takes any integer modulo 2**bits into the range of a scalar type."""
    if dtype.is_bool:
        return bool
    mask, bias = (1 << dtype.bits) - 1, -dtype.min_int
    return lambda x: ((x + bias) & mask) - bias


MOST_EXACT: Final = 1 << 53
"""All integers up to it are values of float64."""


def int_to_float(value: int, dtype: DType) -> float:
    """`value` rounded once to the nearest value of a scalar float type."""
    excess = abs(value).bit_length() - 53
    if excess > 0 and dtype.bits < 64:
        # Round to odd at 53 bits: then the second rounding, to fewer bits, is right.
        magnitude, lost = abs(value) >> excess, abs(value) & ((1 << excess) - 1)
        magnitude = (magnitude | (lost != 0)) << excess
        value = magnitude if value > 0 else -magnitude
    return rounding(dtype)(float(value))


def float_to_int(value: float, dtype: DType) -> int:
    """`value` truncated; out of range (where any result is allowed), the nearest bound or 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return dtype.max_int if value > 0 else dtype.min_int
    return min(max(int(value), dtype.min_int), dtype.max_int)


def conversion(source: DType, target: DType) -> Callable[[Any], Any]:
    """The function that converts a value of one scalar type to another."""
    if target.is_bool:
        return lambda x: x != 0
    if target.is_float:
        return rounding(target) if source.is_float else _from_int(target)
    if source.is_float:
        return lambda x: float_to_int(x, target)
    wrap = wrapping(target)
    return lambda x: wrap(int(x))


def _from_int(dtype: DType) -> Callable[[int], float]:
    rounded = rounding(dtype)
    return lambda x: (
        rounded(float(x)) if -MOST_EXACT <= x <= MOST_EXACT else int_to_float(int(x), dtype)
    )


def zero_of(dtype: DType) -> Any:
    """The zero of a scalar type."""
    return 0.0 if dtype.is_float else False if dtype.is_bool else 0


# --- division -------------------------------------------------------------------------------


def float_divide(a: float, b: float) -> float:
    """IEEE 754 division in float64."""
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def trunc_div(a: int, b: int) -> int:
    """Quotient rounded towards zero."""
    if b == 0:
        raise InterpreterError("division by zero")
    return trunc_div_int(a, b)


def trunc_mod(a: int, b: int) -> int:
    """Remainder with the sign of `a`."""
    return a - b * trunc_div(a, b)


@functools.cache
def float_floored(function: Callable[..., Any], dtype: DType) -> Callable[[float, float], float]:
    """`np.floor_divide` or `np.remainder` of floats, with the roundings of a scalar type."""
    kind = np.float64 if dtype.bits == 64 else np.float32
    return lambda a, b: float(function(kind(a), kind(b)))


def float_mod(a: float, b: float) -> float:
    """The exact remainder with the sign of `a`."""
    return float(np.fmod(a, b))


def float_min(a: float, b: float) -> float:
    """The smaller; NaN if either is NaN."""
    return a if a < b or a != a else b


def float_max(a: float, b: float) -> float:
    """The larger; NaN if either is NaN."""
    return a if a > b or a != a else b


# --- bits -----------------------------------------------------------------------------------


def checked_shift(a: int, amount: int, bits: int, direction: int) -> int:
    """`a` shifted left (`direction` 1) or right (-1) by an amount that must be in range."""
    if not 0 <= amount < bits:
        raise InterpreterError(f"shift of a {bits}-bit integer by {amount}")
    return a << amount if direction > 0 else a >> amount


def to_bytes(value: Any, dtype: DType) -> bytes:
    """The little-endian bytes of a value; of a vector, lane 0 first."""
    lanes = value if dtype.lanes > 1 else [value]
    return np.array(lanes, dtype=dtype.numpy).tobytes()


def from_bytes(data: bytes, dtype: DType) -> Any:
    """The value of `dtype` that these bytes are."""
    convert = float if dtype.is_float else bool if dtype.is_bool else int
    lanes = [convert(item) for item in np.frombuffer(data, dtype=dtype.numpy)]
    return lanes if dtype.lanes > 1 else lanes[0]


# --- one rounding ---------------------------------------------------------------------------


def fused_multiply_add(a: float, b: float, c: float, dtype: DType) -> float:
    """`a * b + c` rounded once to a scalar float type."""
    approximate = a * b + c
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return rounding(dtype)(approximate)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return approximate if approximate == 0 else math.copysign(0.0, a * b)
    try:
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if dtype.bits == 64:
        return nearest
    return rounding(dtype)(_round_to_odd(nearest, exact))


def _round_to_odd(nearest: float, exact: Fraction) -> float:
    """`exact`, of which `nearest` is the closest float64, so that a second rounding is right."""
    is_odd = struct.unpack("<q", struct.pack("<d", nearest))[0] & 1
    if is_odd or math.isinf(nearest) or Fraction(nearest) == exact:
        return nearest
    return math.nextafter(nearest, math.inf if exact > nearest else -math.inf)
