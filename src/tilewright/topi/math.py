"""Operators that map each element of a tensor, or a scalar, on its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir import arithmetic
from tilewright.ir.convert import as_expr, const, exact_expr
from tilewright.ir.convert import cast as cast_element
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, FloatImm, IntImm
from tilewright.te.compute import compute
from tilewright.te.tensor import Tensor
from tilewright.tir.op import dtypes
from tilewright.tir.op import math as scalar
from tilewright.topi import tag


def map_elements(apply: Callable[[Any], Any], name: str, x: Any) -> Any:
    """`apply` to each element of a tensor, or to a scalar."""
    if not isinstance(x, Tensor):
        return apply(x)
    return compute(x.shape, lambda *i: apply(x(*i)), f"T_{name}", tag.ELEMWISE)


def _sign(x: object) -> Expr:
    value = as_expr(x)
    zero, one = const(0, value.dtype), const(1, value.dtype)
    if value.dtype.is_uint or value.dtype.is_bool:
        return arithmetic.select(value != zero, one, zero)
    # `value` is what remains for NaN and both zeros.
    below = arithmetic.select(value < zero, const(-1, value.dtype), value)
    return arithmetic.select(value > zero, one, below)


UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    **{
        name: getattr(scalar, name)
        for name in (
            "exp", "exp2", "exp10", "erf", "tanh", "tan", "cos", "cosh", "sin", "sinh", "acos",
            "acosh", "asin", "asinh", "atan", "atanh", "floor", "ceil", "trunc", "round",
            "nearbyint", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sigmoid", "isnan",
            "isfinite", "isinf",
        )
    },
    "identity": as_expr,
    "negative": arithmetic.negative,
    "abs": arithmetic.absolute,
    "sign": _sign,
    "square": lambda x: x * x,
    "logical_not": arithmetic.logical_not,
    "bitwise_not": arithmetic.bitwise_not,
    "fast_exp": scalar.exp,
    "fast_tanh": scalar.tanh,
    "fast_erf": scalar.erf,
}  # fmt: skip
"""What each operator does to an element."""


def _unary(name: str, apply: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def operator(x: Any) -> Any:
        return map_elements(apply, name, x)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"`{name}` of each element of `x`."
    return operator


exp, exp2, exp10, erf, tanh, tan, cos, cosh, sin, sinh, acos, acosh, asin, asinh, atan, atanh, \
    floor, ceil, trunc, round, nearbyint, log, log2, log10, log1p, sqrt, rsqrt, sigmoid, isnan, \
    isfinite, isinf, identity, negative, abs, sign, square, logical_not, bitwise_not, fast_exp, \
    fast_tanh, fast_erf = (_unary(name, apply) for name, apply in UNARY.items())  # fmt: skip


def clip(x: Any, a_min: Any, a_max: Any) -> Any:
    """`x` where it is between `a_min` and `a_max`, else the nearer bound; NaN stays NaN.

    A bound that no element of an integer type can reach limits nothing.
    """

    def limited(value: Any) -> Expr:
        element = as_expr(value)
        low, high = (limit("topi.clip", bound, element.dtype) for bound in (a_min, a_max))
        return arithmetic.maximum(arithmetic.minimum(element, high), low)

    return map_elements(limited, "clip", x)


def limit(owner: str, bound: Any, dtype: DType) -> Expr:
    """A bound of elements of a type, in that type.

    Raises:
        ArgumentError: for a fraction or NaN as the bound of integers.
    """
    expr = exact_expr(bound)
    if not dtype.is_integral or not isinstance(expr, (IntImm, FloatImm)):
        return cast_element(dtype, expr)
    if math.isnan(expr.value) or (math.isfinite(expr.value) and expr.value != int(expr.value)):
        raise ArgumentError(f"{owner}: the bound {expr.value} of integers must be one, too")
    return const(int(min(max(expr.value, dtype.min_int), dtype.max_int)), dtype)


def cast(x: Any, dtype: str, span: object = None) -> Any:
    """`x` converted to `dtype`."""
    del span
    target = DType(dtype)
    return map_elements(lambda value: cast_element(target, value), "cast", x)


def reinterpret(x: Any, dtype: str) -> Any:
    """The bits of each element of `x` taken as a value of `dtype`, which has the same width."""
    return map_elements(lambda value: dtypes.reinterpret(dtype, value), "reinterpret", x)


def fixed_point_multiply(x: Tensor, multiplier: int, shift: int) -> Tensor:
    """`x` times the fixed-point number ``multiplier * 2**(shift - 31)``, rounded, as int32."""
    return map_elements(
        lambda value: scalar.q_multiply_shift(value, multiplier, 31, shift),
        "fixed_point_multiply",
        x,
    )


def fixed_point_multiply_per_axis(
    x: Tensor,
    y: Tensor,
    lshift: Tensor,
    rshift: Tensor,
    is_lshift_required: int,
    is_rshift_required: int,
    axes: Any,
) -> Tensor:
    """`fixed_point_multiply` with a multiplier and shifts for each index along `axes`.

    Args:
        x: int32 numbers.
        y: the multipliers, with 31 fractional bits.
        lshift: how far to shift left before multiplying.
        rshift: how far to shift right after it.
        is_lshift_required: whether `lshift` matters.
        is_rshift_required: whether `rshift` matters.
        axes: the dimensions of `x` along which the others run.
    """

    def element(*indices: Any) -> Expr:
        place = tuple(indices[axis] for axis in axes)
        required = (bool(is_lshift_required), bool(is_rshift_required))
        factors = (y(*place), lshift(*place), rshift(*place), 31)
        return scalar.q_multiply_shift_per_axis(x(*indices), *factors, *required)

    return compute(x.shape, element, "T_fixed_point_multiply_per_axis", tag.BROADCAST)


def ceil_log2(x: Any) -> Any:
    """The smallest n with ``2**n >= x``, of positive integers; of floats, log2 rounded up."""

    def exponent(value: Any) -> Expr:
        element = as_expr(value)
        if element.dtype.is_float:
            return scalar.ceil(scalar.log2(element))
        bits = element.dtype.bits - scalar.clz(element - 1)
        return cast_element(element.dtype, arithmetic.select(element <= 1, 0, bits))

    return map_elements(exponent, "ceil_log2", x)


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of the same shape."""
    if not xs:
        raise ArgumentError("topi.elemwise_sum: there are no tensors")

    def element(*i: Any) -> Expr:
        total = xs[0](*i)
        for x in xs[1:]:
            total = total + x(*i)
        return total

    return compute(xs[0].shape, element, "T_elemwise_sum", tag.ELEMWISE)
