"""Operators on dtypes: their extreme values, and one as the bits of another."""

from __future__ import annotations

import math

from tilewright.error import DTypeError
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.op import Op, register_op

__all__ = [
    "infinity", "max_value", "min_value", "reinterpret",
]  # fmt: skip


def min_value(dtype: str) -> Expr:
    """The smallest finite value of `dtype`."""
    target = DType(dtype)
    if target.is_float:
        return const(-_largest_float(target), target)
    return const(_integer(target).min_int, target)


def max_value(dtype: str) -> Expr:
    """The largest finite value of `dtype`."""
    target = DType(dtype)
    return const(_largest_float(target) if target.is_float else _integer(target).max_int, target)


def infinity(dtype: str) -> Expr:
    """Positive infinity of the float type `dtype`."""
    target = DType(dtype)
    if not target.is_float:
        raise DTypeError(f"dtype {target!s} has no infinity")
    return const(math.inf, target)


def _largest_float(dtype: DType) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype.numpy).max)


def _integer(dtype: DType) -> DType:
    if not dtype.is_integral:
        raise DTypeError(f"dtype {dtype!s} has no smallest and largest value")
    return dtype


register_op("tir.reinterpret", arity=1)


def reinterpret(dtype: str, value: object) -> Expr:
    """The bits of `value` taken as a value of `dtype`, which has the same width in all.

    Lanes may be regrouped (lane 0 holds the least significant bits), and a handle may become a
    64-bit integer and back.
    """
    target, operand = DType(dtype), as_expr(value)
    source = operand.dtype
    if source is target:
        return operand
    same_width = source.bits * source.lanes == target.bits * target.lanes
    if not same_width or source.is_bool or target.is_bool or target.bits == 0:
        raise DTypeError(f"cannot reinterpret {operand!r} of dtype {source!s} as {target!s}")
    return Call(target, Op.get("tir.reinterpret"), (operand,))
