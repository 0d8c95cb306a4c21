"""Division of integers.

A divisor that is 0, or -1 under the smallest number, would stop the process on some machines; such
a division gives an unspecified number instead.

Vectors of integers of up to 32 bits are divided as floats, for which machines have instructions. A
quotient a/b that is no integer is at least 1/b away from the next one. That is 1/a of it, and more
than the rounding error: no quotient is rounded to an integer, or past it.
"""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Broadcast, Div, Expr, FloorDiv, FloorMod, const_int_value
from tilewright.target.codegen.llvm.emitter import FunctionEmitter
from tilewright.target.codegen.llvm.intrinsics import intrinsic
from tilewright.target.codegen.llvm.types import splat, value_type

_FLOAT_BITS: Final = {8: 32, 16: 32, 32: 64}
"""The bits of the floats that integers are divided as, by the bits of these."""


def truncated_division(emitter: FunctionEmitter, expr: Any, a: str, b: str) -> str:
    """Quotient (`Div`) or remainder (`Mod`) of a division rounded towards zero."""
    dtype = expr.dtype
    is_quotient = isinstance(expr, Div)
    if _is_vector_of_unknown(expr):
        return _divided_as_floats(emitter, expr, a, b)
    op = ("s" if dtype.is_int else "u") + ("div" if is_quotient else "rem")
    divisor = _safe_divisor(emitter, expr.b, b, dtype)
    result = emitter.pure(f"{op} {value_type(dtype)} {a}, {divisor}", a, divisor)
    return _negated_if_minus_one(emitter, result, a, b, expr) if is_quotient else result


def floored_division(emitter: FunctionEmitter, expr: Any, a: str, b: str) -> str:
    """Quotient (`FloorDiv`) or remainder (`FloorMod`) of a division rounded down."""
    dtype = expr.dtype
    ty = value_type(dtype)
    is_quotient = isinstance(expr, FloorDiv)
    if _is_vector_of_unknown(expr):
        return _divided_as_floats(emitter, expr, a, b)
    if not dtype.is_int or _is_natural(emitter, expr.a, expr.b):
        op = "udiv" if is_quotient else "urem"
        b = _safe_divisor(emitter, expr.b, b, dtype)
        return emitter.pure(f"{op} {ty} {a}, {b}", a, b)
    constant = constant_value(expr.b)
    if constant is not None and constant > 0 and constant & (constant - 1) == 0:
        amount = constant.bit_length() - 1 if is_quotient else constant - 1
        operand = splat(value_type(dtype.element), str(amount), dtype.lanes)
        return emitter.pure(f"{'ashr' if is_quotient else 'and'} {ty} {a}, {operand}", a)
    divisor = _safe_divisor(emitter, expr.b, b, dtype)
    zero = splat(value_type(dtype.element), "0", dtype.lanes)
    remainder = emitter.pure(f"srem {ty} {a}, {divisor}", a, divisor)
    # The truncated result differs where the remainder's sign is not the divisor's.
    signs = emitter.pure(f"xor {ty} {remainder}, {divisor}", remainder, divisor)
    apart = emitter.pure(f"icmp slt {ty} {signs}, {zero}", signs)
    inexact = emitter.pure(f"icmp ne {ty} {remainder}, {zero}", remainder)
    test = value_type(DType("bool").with_lanes(dtype.lanes))
    adjust = emitter.pure(f"and {test} {apart}, {inexact}", apart, inexact)
    if is_quotient:
        quotient = emitter.pure(f"sdiv {ty} {a}, {divisor}", a, divisor)
        step = emitter.pure(f"sext {test} {adjust} to {ty}", adjust)
        result = emitter.pure(f"add {ty} {quotient}, {step}", quotient, step)
        return _negated_if_minus_one(emitter, result, a, b, expr)
    added = emitter.pure(f"add {ty} {remainder}, {divisor}", remainder, divisor)
    return emitter.pure(
        f"select {test} {adjust}, {ty} {added}, {ty} {remainder}", adjust, added, remainder
    )


def _is_vector_of_unknown(expr: Any) -> bool:
    """Whether a division is one of vectors, by no constant, that floats are precise enough for."""
    dtype = expr.dtype
    return dtype.lanes > 1 and dtype.bits in _FLOAT_BITS and constant_value(expr.b) is None


def _divided_as_floats(emitter: FunctionEmitter, expr: Any, a: str, b: str) -> str:
    dtype = expr.dtype
    ty, real = value_type(dtype), DType(f"float{_FLOAT_BITS[dtype.bits]}").with_lanes(dtype.lanes)
    wide = value_type(real)
    sign = "s" if dtype.is_int else "u"
    x, y = (emitter.pure(f"{sign}itofp {ty} {value} to {wide}", value) for value in (a, b))
    quotient = emitter.pure(f"fdiv {wide} {x}, {y}", x, y)
    if dtype.is_int and isinstance(expr, (FloorDiv, FloorMod)):
        quotient = intrinsic(emitter, "floor", real, quotient)
    # By 0 it is no integer, and 2**31 is none of 32 bits: freezing makes it some number.
    whole = value_type(DType(f"{dtype.code}32").with_lanes(dtype.lanes))
    result = emitter.pure(f"fpto{sign}i {wide} {quotient} to {whole}", quotient)
    result = emitter.pure(f"freeze {whole} {result}", result)
    if dtype.bits < 32:
        result = emitter.pure(f"trunc {whole} {result} to {ty}", result)
    result = _negated_if_minus_one(emitter, result, a, b, expr) if dtype.bits == 32 else result
    if isinstance(expr, (Div, FloorDiv)):
        return result
    product = emitter.pure(f"mul {ty} {result}, {b}", result, b)
    return emitter.pure(f"sub {ty} {a}, {product}", a, product)


def _is_natural(emitter: FunctionEmitter, a: Expr, b: Expr) -> bool:
    if a.dtype.lanes > 1:
        return False
    prove = emitter.analyzer.can_prove_greater_equal
    return prove(b, 1) and prove(a, 0)


def _safe_divisor(emitter: FunctionEmitter, divisor: Expr, b: str, dtype: DType) -> str:
    """`b`, or 1 where the machine could trap on it."""
    ty, element = value_type(dtype), value_type(dtype.element)
    if constant_value(divisor) not in (None, 0, -1):
        return b
    one, zero = (splat(element, digit, dtype.lanes) for digit in "10")
    test = value_type(DType("bool").with_lanes(dtype.lanes))
    if not dtype.is_int or _is_not_negative(emitter, divisor):
        bad = emitter.pure(f"icmp eq {ty} {b}, {zero}", b)
    else:
        # 0 and -1 are the two numbers that are below 2 after adding 1, without sign.
        two = splat(element, "2", dtype.lanes)
        above = emitter.pure(f"add {ty} {b}, {one}", b)
        bad = emitter.pure(f"icmp ult {ty} {above}, {two}", above)
    return emitter.pure(f"select {test} {bad}, {ty} {one}, {ty} {b}", bad, b)


def _negated_if_minus_one(
    emitter: FunctionEmitter, quotient: str, a: str, b: str, expr: Any
) -> str:
    """The quotient by a safe divisor, corrected where the divisor was -1."""
    dtype = expr.dtype
    if not dtype.is_int or constant_value(expr.b) not in (None, -1):
        return quotient
    if _is_not_negative(emitter, expr.b):
        return quotient
    ty, element = value_type(dtype), value_type(dtype.element)
    minus_one, zero = (splat(element, text, dtype.lanes) for text in ("-1", "0"))
    negated = emitter.pure(f"sub {ty} {zero}, {a}", a)
    is_minus_one = emitter.pure(f"icmp eq {ty} {b}, {minus_one}", b)
    test = value_type(DType("bool").with_lanes(dtype.lanes))
    return emitter.pure(
        f"select {test} {is_minus_one}, {ty} {negated}, {ty} {quotient}",
        is_minus_one, negated, quotient,
    )  # fmt: skip


def _is_not_negative(emitter: FunctionEmitter, expr: Expr) -> bool:
    return expr.dtype.lanes == 1 and emitter.analyzer.can_prove_greater_equal(expr, 0)


def constant_value(expr: Expr) -> int | None:
    """The value of an integer constant or of a broadcast of one; else None."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return const_int_value(expr)
