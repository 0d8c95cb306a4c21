"""Conversions of bit patterns."""

from __future__ import annotations

from tilewright.error import DTypeError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.op import Op, register_op

__all__ = ["reinterpret"]

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
