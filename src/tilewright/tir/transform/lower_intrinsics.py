"""Operators that are short for arithmetic: fixed point, dot products, halves of vectors, masks.

So are ``//`` and ``%`` of floats. Backends then need not know them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.error import LoweringError
from tilewright.ir.arithmetic import less, logical_and, logical_or, maximum, minimum, select
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT32, INT64, DType
from tilewright.ir.expr import (
    Broadcast,
    Call,
    Expr,
    FloorDiv,
    FloorMod,
    Let,
    Ramp,
    Shuffle,
    StringImm,
    Var,
)
from tilewright.ir.op import Op
from tilewright.ir.rewrite import SparseRewriter
from tilewright.tir.buffer import decl_buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.math import copysign, floor, fmod
from tilewright.tir.op.memory import address_of
from tilewright.tir.op.vector import LANE_OPERATORS


def expand_float_division(expr: FloorDiv | FloorMod) -> Expr:
    """A division of floats by the exact remainder of `tir.fmod`; one of integers as it is.

    The floor of ``a / b`` is not what ``//`` means: the quotient may have been rounded up to the
    next whole number, as that of 1 and 0.1 is in float32. The formulas, their roundings and their
    zeros are those of numpy.
    """
    if not expr.dtype.is_float:
        return expr
    # Short floats have too few digits for the steps in between.
    working = FLOAT32 if expr.dtype.bits < 32 else expr.dtype.element
    dtype = working.with_lanes(expr.dtype.lanes)
    a, b, remainder = (Var(name, dtype) for name in ("a", "b", "remainder"))
    below = logical_and(remainder < 0.0, b > 0.0)
    is_other_sign = logical_or(below, logical_and(remainder > 0.0, b < 0.0))
    if isinstance(expr, FloorMod):
        moved = select(is_other_sign, remainder + b, remainder)
        result = select(remainder.equal(0.0), copysign(0.0, b), moved)
    else:
        result = _quotient(a, b, remainder, is_other_sign)
    result = Let(remainder, fmod(a, b), result)
    for variable, value in ((b, expr.b), (a, expr.a)):
        result = Let(variable, cast(dtype, value), result)
    return cast(expr.dtype, result)


def _quotient(a: Expr, b: Expr, remainder: Expr, is_other_sign: Expr) -> Expr:
    """What `remainder` leaves of `a`, divided by `b`: a whole number but for its rounding."""
    quotient, lower = Var("quotient", a.dtype), Var("lower", a.dtype)
    exact = (a - remainder) / b
    nearest = select(quotient - lower > 0.5, lower + 1.0, lower)
    nearest = Let(lower, floor(quotient), nearest)
    nearest = select(quotient.equal(0.0), copysign(0.0, a / b), nearest)
    nearest = Let(quotient, select(is_other_sign, exact - 1.0, exact), nearest)
    return select(b.equal(0.0), a / b, nearest)


def lower_intrinsics(func: PrimFunc) -> PrimFunc:
    """`func` without operators that `EXPANSIONS` can express by others."""
    return func.with_body(_Expansion()(func.body))


def expand_intrinsic(call: Call) -> Expr:
    """`call` by simpler operators, if there is an expansion; else the call itself."""
    expansion = EXPANSIONS.get(call.op)  # type: ignore[call-overload]
    return call if expansion is None else expansion(call)


class DivisionExpansion(SparseRewriter):
    """Expands divisions of floats that are rounded down."""

    def FloorDiv(self, expr: FloorDiv) -> Expr:
        return expand_float_division(expr.map_children(self))

    def FloorMod(self, expr: FloorMod) -> Expr:
        return expand_float_division(expr.map_children(self))


class _Expansion(DivisionExpansion):
    def Call(self, call: Call) -> Expr:
        return expand_intrinsic(call.map_children(self))


def _fixed_point(call: Call, left: Expr, right: Expr) -> Expr:
    """``(x << left) * y``, shifted to the right and rounded, in int64."""
    x, y = (cast(INT64.with_lanes(call.dtype.lanes), arg) for arg in call.args[:2])
    dtype = x.dtype
    product = (x << cast(dtype, left)) * y
    amount = cast(dtype, right)
    rounded = product + (const(1, dtype) << (amount - 1))
    return cast(call.dtype, rounded >> amount)


def _q_multiply_shift(call: Call) -> Expr:
    fraction, shift = call.args[2:]
    zero = const(0, shift.dtype)
    return _fixed_point(call, maximum(shift, zero), fraction - minimum(shift, zero))


def _q_multiply_shift_per_axis(call: Call) -> Expr:
    left, right, fraction, has_left, has_right = call.args[2:]
    zero = const(0, left.dtype)
    left, right = select(has_left, left, zero), select(has_right, right, zero)
    return _fixed_point(call, left, fraction + right)


def _dot_product(call: Call) -> Expr:
    a, b, total = call.args
    size = a.dtype.lanes // call.dtype.lanes
    for part in range(size):
        picks = tuple(const(size * lane + part, "int32") for lane in range(call.dtype.lanes))
        x, y = (cast(call.dtype, Shuffle((vector,), picks)) for vector in (a, b))
        total = total + x * y
    return total


def _matrix_product(call: Call) -> Expr:
    a, b, total = call.args
    size = a.dtype.lanes // 2
    for step in range(size):
        rows, columns = (0, 0, 1, 1), (0, 1, 0, 1)
        x, y = (
            cast(call.dtype, Shuffle((v,), tuple(const(size * n + step, "int32") for n in halves)))
            for v, halves in ((a, rows), (b, columns))
        )
        total = total + x * y
    return total


def _reduce_lanes(call: Call) -> Expr:
    operator, vector = call.args
    assert isinstance(operator, StringImm)
    combine = LANE_OPERATORS[operator.value]
    while vector.dtype.lanes > 1:
        half = vector.dtype.lanes // 2
        whole = Var("lanes", vector.dtype)
        low, high = (
            Shuffle((whole,), tuple(const(start + lane, "int32") for lane in range(half)))
            for start in (0, half)
        )
        vector = Let(whole, vector, combine(low, high))
    return vector


def _lanes(call: Call, first: int) -> Expr:
    picks = range(first, first + call.dtype.lanes)
    return Shuffle(call.args, tuple(const(pick, "int32") for pick in picks))


def _active_lane_mask(call: Call) -> Expr:
    """Lane ``i``: ``base + i < limit``, where the sum must not wrap around."""
    base, limit = call.args
    lanes = call.dtype.lanes
    room = select(less(base, limit), limit - base, const(0, base.dtype))
    count = cast(base.dtype, minimum(cast("uint64", room), const(lanes, "uint64")))
    if lanes == 1:
        return less(const(0, base.dtype), count)
    positions = Ramp(const(0, "int32"), const(1, "int32"), lanes)
    return less(positions, Broadcast(cast("int32", count), lanes))


def _access_ptr(call: Call) -> Expr:
    annotation, data, offset = call.args[:3]
    if not isinstance(data, Var):
        raise LoweringError(f"tvm_access_ptr needs the pointer of a buffer, got {data!r}")
    dtype: DType = annotation.dtype
    buffer = decl_buffer((1,), dtype, data.name, data=data)
    return address_of(buffer.vload((offset,)))


EXPANSIONS: Final[dict[Op, Callable[[Call], Expr]]] = {
    Op.get("tir.q_multiply_shift"): _q_multiply_shift,
    Op.get("tir.q_multiply_shift_per_axis"): _q_multiply_shift_per_axis,
    Op.get("tir.dp2a"): _dot_product,
    Op.get("tir.dp4a"): _dot_product,
    Op.get("tir.dp4a_narrow"): _dot_product,
    Op.get("tir.mmla"): _matrix_product,
    Op.get("tir.reduce_lanes"): _reduce_lanes,
    Op.get("tir.vectorlow"): lambda call: _lanes(call, 0),
    Op.get("tir.vectorhigh"): lambda call: _lanes(call, call.dtype.lanes),
    Op.get("tir.vectorcombine"): lambda call: _lanes(call, 0),
    Op.get("tir.get_active_lane_mask"): _active_lane_mask,
    Op.get("tir.tvm_access_ptr"): _access_ptr,
    # Vectors have a fixed length here.
    Op.get("tir.vscale"): lambda call: const(1, call.dtype),
}
"""Each operator by others."""
