"""Mathematical functions of one or two scalars (or vectors, lane by lane), and integer arithmetic
beyond the operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.error import DTypeError
from tilewright.ir.arithmetic import floordiv, floormod, match_operands
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import FLOAT32, INT32, DType
from tilewright.ir.expr import Call, Expr, IntImm, compare_dtype
from tilewright.ir.op import Op, register_op

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "ceildiv",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "exp_nonpositive",
    "fabs",
    "floor",
    "fma",
    "fmod",
    "hypot",
    "indexdiv",
    "indexmod",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "log",
    "log1p",
    "log2",
    "log10",
    "nearbyint",
    "nextafter",
    "popcount",
    "pow",
    "power",
    "q_multiply_shift",
    "q_multiply_shift_per_axis",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip


FLOAT_UNARY: Final = {
    "exp": "e to the power of x.",
    "exp2": "2 to the power of x.",
    "exp10": "10 to the power of x.",
    "exp_nonpositive": "e to the power of x, which must be at most 0 (or NaN): cheaper on CPUs.",
    "log": "Natural logarithm.",
    "log2": "Logarithm to base 2.",
    "log10": "Logarithm to base 10.",
    "log1p": "log(1 + x), accurate near 0.",
    "sqrt": "Square root.",
    "rsqrt": "1 / sqrt(x).",
    "sin": "Sine of an angle in radians.",
    "cos": "Cosine of an angle in radians.",
    "tan": "Tangent of an angle in radians.",
    "asin": "Inverse sine, in radians.",
    "acos": "Inverse cosine, in radians.",
    "atan": "Inverse tangent, in radians.",
    "sinh": "Hyperbolic sine.",
    "cosh": "Hyperbolic cosine.",
    "tanh": "Hyperbolic tangent.",
    "asinh": "Inverse hyperbolic sine.",
    "acosh": "Inverse hyperbolic cosine.",
    "atanh": "Inverse hyperbolic tangent.",
    "erf": "Gauss error function.",
    "sigmoid": "1 / (1 + exp(-x)).",
    "fabs": "Absolute value of a float.",
}
"""Functions of one float; integer arguments are converted to float32."""

ROUNDING: Final = {
    "ceil": "The smallest whole number that is not below x.",
    "floor": "The largest whole number that is not above x.",
    "trunc": "x without its fraction.",
    "round": "The nearest whole number; halves go to the even neighbour.",
    "nearbyint": "The nearest whole number; halves go to the even neighbour.",
}
"""Functions to whole numbers, which leave integers as they are."""

FLOAT_BINARY: Final = {
    "pow": "x to the power of y.",
    "fmod": "Remainder of x / y with the sign of x.",
    "atan2": "Angle of the point (y, x), first argument y, in radians.",
    "hypot": "sqrt(x * x + y * y) without overflow.",
    "copysign": "x with the sign of y.",
    "nextafter": "The next representable value after x towards y.",
}
"""Functions of two floats of one dtype."""

FLOAT_TESTS: Final = {
    "isnan": "Whether x is not a number.",
    "isinf": "Whether x is infinite.",
    "isfinite": "Whether x is neither infinite nor NaN.",
}
"""Tests of a float; integers are always finite numbers."""

for _name in (*FLOAT_UNARY, *ROUNDING, *FLOAT_TESTS):
    register_op(f"tir.{_name}", arity=1)
for _name in FLOAT_BINARY:
    register_op(f"tir.{_name}", arity=2)
register_op("tir.fma", arity=3)
register_op("tir.ldexp", arity=2)
register_op("tir.popcount", arity=1)
register_op("tir.clz", arity=1)


def float_operand(value: object, name: str) -> Expr:
    """`value` as a float expression; integers become float32."""
    operand = as_expr(value)
    if operand.dtype.is_float:
        return operand
    if operand.dtype.is_integral:
        return cast(FLOAT32.with_lanes(operand.dtype.lanes), operand)
    raise DTypeError(f"`{name}` needs a number, got {operand!r} of dtype {operand.dtype!s}")


def _float_unary(name: str, doc: str) -> Callable[[object], Expr]:
    op = Op.get(f"tir.{name}")

    def function(x: object) -> Expr:
        operand = float_operand(x, name)
        return Call(operand.dtype, op, (operand,))

    return _named(function, name, doc)


def _rounding(name: str, doc: str) -> Callable[[object], Expr]:
    op = Op.get(f"tir.{name}")

    def function(x: object) -> Expr:
        operand = as_expr(x)
        if operand.dtype.is_integral:
            return operand
        operand = float_operand(operand, name)
        return Call(operand.dtype, op, (operand,))

    return _named(function, name, doc)


def _float_test(name: str, doc: str) -> Callable[[object], Expr]:
    op = Op.get(f"tir.{name}")

    def function(x: object) -> Expr:
        operand = as_expr(x)
        dtype = compare_dtype(operand.dtype)
        if operand.dtype.is_integral:
            return cast(dtype, int(name == "isfinite"))
        return Call(dtype, op, (float_operand(operand, name),))

    return _named(function, name, doc)


def _float_binary(name: str, doc: str) -> Callable[[object, object], Expr]:
    op = Op.get(f"tir.{name}")

    def function(x: object, y: object) -> Expr:
        a, b = match_operands(x, y, name)
        a, b = float_operand(a, name), float_operand(b, name)
        return Call(a.dtype, op, (a, b))

    return _named(function, name, doc)


def _named(function: Callable[..., Expr], name: str, doc: str) -> Callable[..., Expr]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


exp, exp2, exp10, exp_nonpositive, log, log2, log10, log1p, sqrt, rsqrt, sin, cos, tan, asin, \
    acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, sigmoid, fabs = (
        _float_unary(name, doc) for name, doc in FLOAT_UNARY.items()
    )  # fmt: skip
ceil, floor, trunc, round, nearbyint = (_rounding(n, doc) for n, doc in ROUNDING.items())
pow, fmod, atan2, hypot, copysign, nextafter = (
    _float_binary(name, doc) for name, doc in FLOAT_BINARY.items()
)
isnan, isinf, isfinite = (_float_test(name, doc) for name, doc in FLOAT_TESTS.items())
power = pow


def fma(a: object, b: object, c: object) -> Expr:
    """a * b + c of floats, rounded once."""
    x, y = match_operands(a, b, "fma")
    x, z = match_operands(x, c, "fma")
    y, z = match_operands(y, z, "fma")
    if not x.dtype.is_float:
        raise DTypeError(f"`fma` needs floats, got {x!r} of dtype {x.dtype!s}")
    return Call(x.dtype, Op.get("tir.fma"), (x, y, z))


def ldexp(x: object, exponent: object) -> Expr:
    """x * 2**exponent, for a float x and an integer exponent."""
    a, b = float_operand(x, "ldexp"), as_expr(exponent)
    if not b.dtype.is_integral:
        raise DTypeError(f"`ldexp` needs an integer exponent, got {b!r}")
    return Call(a.dtype, Op.get("tir.ldexp"), (a, b))


def _bit_count(name: str, x: object) -> Expr:
    operand = as_expr(x)
    if not operand.dtype.is_integral:
        raise DTypeError(f"`{name}` needs an integer, got {operand!r}")
    dtype = DType("int32").with_lanes(operand.dtype.lanes) if name == "clz" else operand.dtype
    return Call(dtype, Op.get(f"tir.{name}"), (operand,))


def popcount(x: object) -> Expr:
    """Number of bits that are set, in the dtype of x."""
    return _bit_count("popcount", x)


def clz(x: object) -> Expr:
    """Number of leading zero bits, as int32; the width of the type for 0."""
    return _bit_count("clz", x)


register_op("tir.q_multiply_shift", arity=4)
register_op("tir.q_multiply_shift_per_axis", arity=7)


def ceildiv(lhs: object, rhs: object) -> Expr:
    """The quotient of integers rounded up, for a positive divisor."""
    a, b = match_operands(lhs, rhs, "ceildiv")
    if not a.dtype.is_integral or a.dtype.is_bool:
        raise DTypeError(f"`ceildiv` needs integers, got {a!r} of dtype {a.dtype!s}")
    if isinstance(a, IntImm) and isinstance(b, IntImm) and b.value > 0:
        return IntImm(a.dtype, -(-a.value // b.value))
    return floordiv(a + (b - 1), b)


indexdiv = floordiv
indexmod = floormod


def q_multiply_shift(x: object, y: object, q: object, s: object) -> Expr:
    """The product of two fixed-point numbers, ``x * y * 2**(s - q)``, rounded, as int32.

    Args:
        x: int32 integer (or vector).
        y: int32 multiplier with `q` fractional bits.
        q: number of fractional bits, positive.
        s: shift: to the left where positive, to the right where negative.

    A left shift is applied to `x` in int64 before the multiplication; the product is rounded to
    the nearest integer, halves upwards: ``(x * y + (1 << (n - 1))) >> n`` with ``n = q - min(s,
    0)``.
    """
    return _fixed_point("q_multiply_shift", x, (y, q, s))


def q_multiply_shift_per_axis(
    x: object,
    y: object,
    ls: object,
    rs: object,
    q: object,
    is_lshift_required: object,
    is_rshift_required: object,
) -> Expr:
    """`q_multiply_shift` with separate shifts: ``round(x * 2**ls * y * 2**-(rs + q))`` as int32.

    `is_lshift_required` and `is_rshift_required` (bool) say whether `ls` and `rs` count.
    """
    rest = (y, ls, rs, q, is_lshift_required, is_rshift_required)
    return _fixed_point("q_multiply_shift_per_axis", x, rest)


def _fixed_point(name: str, x: object, rest: tuple[object, ...]) -> Expr:
    first = as_expr(x)
    target = INT32.with_lanes(first.dtype.lanes)
    operands = [first, *map(as_expr, rest)]
    for operand in operands:
        if operand.dtype.element is not INT32 and not operand.dtype.is_bool:
            raise DTypeError(f"`{name}` needs int32, got {operand!r} of dtype {operand.dtype!s}")
    arguments = (cast(o.dtype.element.with_lanes(target.lanes), o) for o in operands)
    return Call(target, Op.get(f"tir.{name}"), tuple(arguments))
