"""The extreme values of dtypes."""

from __future__ import annotations

import math

from tilewright.error import DTypeError
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr

__all__ = ["infinity", "max_value", "min_value"]


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
