"""Conversions between integer types."""

from __future__ import annotations

from typing import Any

from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import ramp
from tilewright.ir.convert import fold_cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Broadcast, Cast, Expr, FloatImm, IntImm, Ramp


def simplify_cast(s: Simplifier, expr: Any) -> Expr:
    """A `Cast` node."""
    return convert(s, expr.dtype, s(expr.value))


def convert(s: Simplifier, dtype: DType, value: Any) -> Expr:
    """``Cast(dtype, value)`` of a simplified value."""
    source = value.dtype
    if source is dtype:
        return value
    if value.__class__ is IntImm or value.__class__ is FloatImm:
        if dtype.is_handle:
            return s.intern(Cast(dtype, value))
        return s.intern(fold_cast(value.value, dtype, Cast(dtype, value)))
    if value.__class__ is Broadcast:
        return s.intern(Broadcast(convert(s, dtype.element, value.value), value.lanes))
    if value.__class__ is Cast and keeps_integers(value.value.dtype, source):
        return convert(s, dtype, value.value)
    if value.__class__ is Ramp and keeps_integers(source, dtype):
        last = s.sum({value.base: 1}, 0, value.base.dtype)
        if value.stride.__class__ is IntImm and s.exact(last) and _ramp_fits(s, value):
            element = dtype.element
            base, stride = (convert(s, element, part) for part in (value.base, value.stride))
            return ramp(s, base, stride, value.lanes)
    return s.intern(Cast(dtype, value))


def _ramp_fits(s: Simplifier, value: Any) -> bool:
    """Whether no lane of the ramp wraps around."""
    dtype = value.base.dtype
    low, high = s.bounds(value.base)
    reach = value.stride.value * (value.lanes - 1)
    return dtype.min_int <= low + min(reach, 0) and high + max(reach, 0) <= dtype.max_int


def keeps_integers(source: DType, target: DType) -> bool:
    """Whether every value of the integer type `source` is a value of the integer type `target`."""
    if not source.is_integral or not target.is_integral or target.is_bool:
        return False
    return target.min_int <= source.min_int and source.max_int <= target.max_int


Simplifier.handlers[Cast] = simplify_cast
