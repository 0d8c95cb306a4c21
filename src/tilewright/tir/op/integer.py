"""Integer arithmetic beyond the operators: division variants and fixed point."""

from __future__ import annotations

from tilewright.error import DTypeError
from tilewright.ir.arithmetic import floordiv, floormod, match_operands
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Call, Expr, IntImm
from tilewright.ir.op import Op, register_op

__all__ = [
    "ceildiv", "indexdiv", "indexmod", "q_multiply_shift", "q_multiply_shift_per_axis"
]  # fmt: skip

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
