"""Constructors of arithmetic expressions: promotion of dtypes and folding of constants.

Folding is limited to what needs no knowledge of the operands' values: two constants, and neutral
elements. Algebra belongs to `tilewright.arith`.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.dtype import BOOL, FLOAT32, INT32, INT64, DType, promote
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Operators,
    Or,
    Select,
    StringImm,
    Sub,
    bind_constructors,
)
from tilewright.ir.op import Op, register_op

for _name in ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor"):
    register_op(f"tir.{_name}", arity=2)
register_op("tir.bitwise_not", arity=1)


# --- values ---------------------------------------------------------------------------------


def const(value: object, dtype: str | None = None) -> Expr:
    """A constant expression.

    Args:
        value: a Python or numpy number or bool, or a string.
        dtype: by default bool, int32 (int64 if the value needs it) or float32; a vector dtype
            gives a `Broadcast`.

    Raises:
        DTypeError: if `value` is no number or does not fit `dtype`.
    """
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, Expr):
        return value if dtype is None else cast(dtype, value)
    if hasattr(value, "item"):  # numpy scalars carry their own dtype
        dtype = dtype or getattr(value, "dtype", None)
        value = value.item()  # type: ignore[attr-defined]
    if not isinstance(value, (bool, int, float)):
        raise DTypeError(f"expected a number or an expression, got {value!r}")
    target = _default_dtype(value) if dtype is None else DType(dtype)
    if target.lanes > 1:
        return Broadcast(const(value, target.element), target.lanes)
    return _scalar_const(value, target)


def _default_dtype(value: bool | float) -> DType:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT32 if -(1 << 31) <= value < 1 << 31 else INT64
    return FLOAT32


def _scalar_const(value: bool | float, dtype: DType) -> Expr:
    if dtype.is_float:
        return FloatImm(dtype, round_float(float(value), dtype))
    if dtype.is_bool:
        return IntImm(dtype, int(bool(value)))
    if not dtype.is_integral:
        raise DTypeError(f"a constant cannot have dtype {dtype!s}")
    if isinstance(value, float):
        if not value.is_integer():
            raise DTypeError(f"{value!r} is not a value of dtype {dtype!s}")
        value = int(value)
    if not dtype.min_int <= value <= dtype.max_int:
        raise DTypeError(f"{value} is outside of dtype {dtype!s}")
    return IntImm(dtype, int(value))


def round_float(value: float, dtype: DType) -> float:
    """`value` rounded to the nearest value of the float type `dtype`."""
    if dtype.bits == 64 or not math.isfinite(value):
        return value
    if dtype is FLOAT32:
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return math.copysign(math.inf, value)
    import numpy as np

    with np.errstate(over="ignore"):
        return float(dtype.numpy.type(value))


def as_expr(value: object, dtype: str | None = None) -> Expr:
    """`value` as an expression: an expression itself, a number, or an object that stands for one.

    Objects stand for an expression through a method `as_expr()`: TE tensors of rank 0 and
    iteration variables do.
    """
    if isinstance(value, Expr):
        return value
    convert = getattr(value, "as_expr", None)
    return convert() if convert is not None else const(value, dtype)


def cast(dtype: str, value: object) -> Expr:
    """`value` converted to `dtype`; a scalar is broadcast to the lanes of a vector dtype."""
    target = DType(dtype)
    expr = as_expr(value)
    source = expr.dtype
    if source is target:
        return expr
    if source.lanes == 1 and target.lanes > 1:
        return Broadcast(cast(target.element, expr), target.lanes)
    if source.lanes != target.lanes:
        raise DTypeError(f"cannot cast {source!s} to {target!s}: different numbers of lanes")
    if isinstance(expr, (IntImm, FloatImm)) and not target.is_handle:
        return fold_cast(expr.value, target, Cast(target, expr))
    if isinstance(expr, Broadcast):
        return Broadcast(cast(target.element, expr.value), expr.lanes)
    return Cast(target, expr)


def fold_cast(value: float, target: DType, otherwise: Expr) -> Expr:
    """The constant `value` converted to `target`, or `otherwise` where that is undefined."""
    if target.is_float or target.is_bool:
        return const(value, target)
    if not math.isfinite(value):
        return otherwise
    whole = int(value)
    if isinstance(value, float) and not target.min_int <= whole <= target.max_int:
        return otherwise
    return IntImm(target, wrap_int(whole, target))


def wrap_int(value: int, dtype: DType) -> int:
    """`value` modulo 2**bits, in the range of the integer type `dtype`."""
    if dtype.min_int <= value <= dtype.max_int:
        return value
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.is_int and value > dtype.max_int else value


# --- operands -------------------------------------------------------------------------------


def match_operands(left: object, right: object, operation: str) -> tuple[Expr, Expr]:
    """Both operands as expressions of one dtype; a plain number takes the other's dtype."""
    if isinstance(left, Expr):
        if right.__class__ is int:
            small = _SMALL_CONSTANTS.get((left.dtype, right))
            if small is not None:
                return left, small
        elif isinstance(right, Expr) and left.dtype is right.dtype:
            return left, right
    a, b = _weak(left, right), _weak(right, left)
    if a.dtype is b.dtype:
        return a, b
    try:
        dtype = promote(a.dtype, b.dtype)
    except DTypeError as error:
        raise DTypeError(f"`{operation}` of {a!r} and {b!r}: {error}") from None
    return cast(dtype, a), cast(dtype, b)


_SMALL_CONSTANTS: dict[tuple[DType, object], Expr] = {}
"""The constants that stand for small Python integers beside operands of scalar dtypes."""


def _weak(value: object, other: object) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, (int, float)) and isinstance(other, Expr):
        dtype = other.dtype
        if value.__class__ is float and dtype.is_float:
            element = dtype.element
            return FloatImm(element, round_float(value, element))
        if value.__class__ is int and -64 <= value <= 1024 and not dtype.is_vector:
            found = _SMALL_CONSTANTS.get((dtype, value))
            if found is None and (
                dtype.is_float or (dtype.is_integral and _fits(int(value), dtype))
            ):
                found = _SMALL_CONSTANTS[dtype, value] = const(value, dtype)
            if found is not None:
                return found
        if dtype.is_float or (dtype.is_integral and isinstance(value, int) and _fits(value, dtype)):
            return const(value, dtype.element)
    return as_expr(value)


def _fits(value: int, dtype: DType) -> bool:
    if dtype.is_bool:
        return isinstance(value, bool)
    return dtype.min_int <= value <= dtype.max_int


def binary_operator(name: str, left: object, right: object) -> Any:
    """The Python operator protocol: `NotImplemented` for operands that are no expressions."""
    # Expressions have priority 0, which needs no look at the other side.
    if isinstance(left, Expr):
        if right.__class__ is int or right.__class__ is float or isinstance(right, Expr):
            return globals()[name](left, right)
    elif isinstance(right, Expr) and (left.__class__ is int or left.__class__ is float):
        return globals()[name](left, right)
    priority = 0
    for operand in (left, right):
        if isinstance(operand, Operators):
            priority = max(priority, operand.operator_priority)
        elif not isinstance(operand, (int, float)) and not is_numpy_scalar(operand):
            return NotImplemented
    return NotImplemented if priority else globals()[name](left, right)


def is_numpy_scalar(value: object) -> bool:
    """Whether `value` is a numpy number, or an array without dimensions."""
    return hasattr(value, "item") and getattr(value, "ndim", None) == 0


# --- folding of two constants ---------------------------------------------------------------


def floor_div_int(a: int, b: int) -> int:
    """Quotient rounded down; `b` is not 0."""
    return a // b


def trunc_div_int(a: int, b: int) -> int:
    """Quotient rounded towards zero; `b` is not 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


_INT_FOLD: dict[type[Expr], Callable[[int, int], int]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Div: trunc_div_int,
    Mod: lambda a, b: a - b * trunc_div_int(a, b),
    FloorDiv: floor_div_int,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
}
_FLOAT_FOLD: dict[type[Expr], Callable[[float, float], float]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Div: lambda a, b: a / b,
}
_COMPARE_FOLD: dict[type[Expr], Callable[[float, float], bool]] = {
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
}


_FOLDABLE = frozenset((IntImm, FloatImm, Broadcast))
"""The classes of operands that may make an operator unnecessary."""


def fold_constants(kind: type[Any], a: Expr, b: Expr) -> Expr | None:
    """The value of `kind(a, b)` where both are constants and the result is defined."""
    if a.__class__ is not b.__class__:
        return None
    if a.__class__ is IntImm and b.__class__ is IntImm:
        x, y = a.value, b.value  # type: ignore[attr-defined]
        if kind in _COMPARE_FOLD:
            return IntImm(BOOL, int(_COMPARE_FOLD[kind](x, y)))
        divides = kind in (Div, Mod, FloorDiv, FloorMod)
        if a.dtype.is_bool or (divides and y == 0) or kind not in _INT_FOLD:
            return None
        return IntImm(a.dtype, wrap_int(_INT_FOLD[kind](x, y), a.dtype))
    if a.__class__ is FloatImm and b.__class__ is FloatImm:
        x, y = a.value, b.value  # type: ignore[attr-defined]
        if kind in _COMPARE_FOLD:
            return IntImm(BOOL, int(_COMPARE_FOLD[kind](x, y)))
        if kind in _FLOAT_FOLD and not (kind is Div and y == 0):
            try:
                return FloatImm(a.dtype, round_float(_FLOAT_FOLD[kind](x, y), a.dtype))
            except OverflowError:
                return None
    return None


def _is_value(expr: Expr, value: int) -> bool:
    """Whether `expr` is the constant `value`, or a vector of it."""
    if expr.__class__ is Broadcast:
        expr = expr.value  # type: ignore[attr-defined]
    if expr.__class__ is IntImm or expr.__class__ is FloatImm:
        return expr.value == value  # type: ignore[attr-defined]
    return False


def _require_numbers(a: Expr, operation: str) -> None:
    dtype = a.dtype
    if not (dtype.is_integral or dtype.is_float):
        raise DTypeError(f"`{operation}` needs numbers, got {a!r} of dtype {a.dtype!s}")


# --- arithmetic -----------------------------------------------------------------------------


def add(left: object, right: object) -> Expr:
    """`left + right`."""
    a, b = match_operands(left, right, "+")
    if a.__class__ not in _FOLDABLE and b.__class__ not in _FOLDABLE:
        _require_numbers(a, "+")
        return Add(a, b)
    folded = fold_constants(Add, a, b)
    if folded is not None:
        return folded
    # For floats only -0.0 is neutral in every case, but x + 0.0 differs from x for -0.0 alone;
    # keep what the user wrote.
    if a.dtype.is_integral:
        if _is_value(a, 0):
            return b
        if _is_value(b, 0):
            return a
    _require_numbers(a, "+")
    return Add(a, b)


def subtract(left: object, right: object) -> Expr:
    """`left - right`."""
    a, b = match_operands(left, right, "-")
    if a.__class__ not in _FOLDABLE and b.__class__ not in _FOLDABLE:
        _require_numbers(a, "-")
        return Sub(a, b)
    folded = fold_constants(Sub, a, b)
    if folded is not None:
        return folded
    if a.dtype.is_integral and _is_value(b, 0):
        return a
    _require_numbers(a, "-")
    return Sub(a, b)


def negative(value: object) -> Expr:
    """`-value`, which for floats also changes the sign of a zero."""
    operand = as_expr(value)
    if operand.dtype.is_uint or operand.dtype.is_bool:
        raise DTypeError(f"cannot negate {operand!r} of dtype {operand.dtype!s}")
    return multiply(operand, -1)


def multiply(left: object, right: object) -> Expr:
    """`left * right`."""
    a, b = match_operands(left, right, "*")
    if a.__class__ not in _FOLDABLE and b.__class__ not in _FOLDABLE:
        _require_numbers(a, "*")
        return Mul(a, b)
    folded = fold_constants(Mul, a, b)
    if folded is not None:
        return folded
    if _is_value(a, 1):
        return b
    if _is_value(b, 1):
        return a
    if a.dtype.is_integral:
        if _is_value(a, 0):
            return a
        if _is_value(b, 0):
            return b
    _require_numbers(a, "*")
    return Mul(a, b)


def divide(left: object, right: object) -> Expr:
    """`left / right` for floats; refused for integers, whose rounding must be chosen."""
    a, b = match_operands(left, right, "/")
    if a.dtype.is_integral:
        raise DTypeError(
            f"`/` of integers {a!r} and {b!r} is ambiguous: use floordiv (//) or truncdiv"
        )
    folded = fold_constants(Div, a, b)
    if folded is not None:
        return folded
    if _is_value(b, 1):
        return a
    _require_numbers(a, "/")
    return Div(a, b)


def _divide_like(kind: type[Any], symbol: str, left: object, right: object) -> Expr:
    a, b = match_operands(left, right, symbol)
    _require_numbers(a, symbol)
    if _is_value(b, 0) and not a.dtype.is_float:
        raise DTypeError(f"`{symbol}` of {a!r} by zero")
    folded = fold_constants(kind, a, b)
    if folded is not None:
        return folded
    if a.dtype.is_integral:
        if _is_value(a, 0):
            return a
        if _is_value(b, 1):
            return a if kind in (FloorDiv, Div) else const(0, a.dtype)
    return kind(a, b)


def floordiv(left: object, right: object) -> Expr:
    """`left // right`, rounded down."""
    return _divide_like(FloorDiv, "//", left, right)


def floormod(left: object, right: object) -> Expr:
    """`left % right`, with the sign of `right`."""
    return _divide_like(FloorMod, "%", left, right)


def truncdiv(left: object, right: object) -> Expr:
    """Quotient rounded towards zero."""
    return _divide_like(Div, "truncdiv", left, right)


def truncmod(left: object, right: object) -> Expr:
    """Remainder with the sign of `left`."""
    return _divide_like(Mod, "truncmod", left, right)


def minimum(left: object, right: object) -> Expr:
    """The smaller of the two; NaN where either is NaN."""
    a, b = match_operands(left, right, "min")
    _require_numbers(a, "min")
    folded = fold_constants(Min, a, b)
    return a if a is b else folded if folded is not None else Min(a, b)


def maximum(left: object, right: object) -> Expr:
    """The larger of the two; NaN where either is NaN."""
    a, b = match_operands(left, right, "max")
    _require_numbers(a, "max")
    folded = fold_constants(Max, a, b)
    return a if a is b else folded if folded is not None else Max(a, b)


def absolute(value: object) -> Expr:
    """The absolute value."""
    operand = as_expr(value)
    if operand.dtype.is_float:
        return Call(operand.dtype, Op.get("tir.fabs"), (operand,))
    if operand.dtype.is_uint:
        return operand
    return Select(greater_equal(operand, 0), operand, negative(operand))


# --- comparison and logic -------------------------------------------------------------------


def _compare(kind: type[Any], symbol: str, left: object, right: object) -> Expr:
    a, b = match_operands(left, right, symbol)
    if a.__class__ not in _FOLDABLE:
        return kind(a, b)
    folded = fold_constants(kind, a, b)
    return folded if folded is not None else kind(a, b)


def equal(left: object, right: object) -> Expr:
    """`left == right`."""
    return _compare(EQ, "==", left, right)


def not_equal(left: object, right: object) -> Expr:
    """`left != right`."""
    return _compare(NE, "!=", left, right)


def less(left: object, right: object) -> Expr:
    """`left < right`."""
    return _compare(LT, "<", left, right)


def less_equal(left: object, right: object) -> Expr:
    """`left <= right`."""
    return _compare(LE, "<=", left, right)


def greater(left: object, right: object) -> Expr:
    """`left > right`."""
    return _compare(GT, ">", left, right)


def greater_equal(left: object, right: object) -> Expr:
    """`left >= right`."""
    return _compare(GE, ">=", left, right)


def _truth(value: object, operation: str) -> Expr:
    operand = as_expr(value)
    if not operand.dtype.is_bool:
        raise DTypeError(f"`{operation}` needs bool operands, got {operand!r}: compare it with 0")
    return operand


def logical_and(left: object, right: object) -> Expr:
    """`left and right`."""
    a, b = match_operands(_truth(left, "and"), _truth(right, "and"), "and")
    if _is_value(a, 1) or _is_value(b, 0):
        return b
    if _is_value(a, 0) or _is_value(b, 1):
        return a
    return And(a, b)


def logical_or(left: object, right: object) -> Expr:
    """`left or right`."""
    a, b = match_operands(_truth(left, "or"), _truth(right, "or"), "or")
    if _is_value(a, 0) or _is_value(b, 1):
        return b
    if _is_value(a, 1) or _is_value(b, 0):
        return a
    return Or(a, b)


def logical_not(value: object) -> Expr:
    """`not value`."""
    operand = _truth(value, "not")
    if isinstance(operand, IntImm):
        return IntImm(BOOL, 1 - operand.value)
    return Not(operand)


def select(condition: object, true_value: object, false_value: object) -> Expr:
    """`true_value` where `condition`, else `false_value`; both sides are evaluated."""
    chosen = _truth(condition, "select")
    a, b = match_operands(true_value, false_value, "select")
    if isinstance(chosen, IntImm):
        return a if chosen.value else b
    if chosen.dtype.lanes != a.dtype.lanes > 1 and chosen.dtype.lanes == 1:
        chosen = Broadcast(chosen, a.dtype.lanes)
    return Select(chosen, a, b)


# --- bits -----------------------------------------------------------------------------------


def _bits(name: str, fold: Callable[[int, int], int], left: object, right: object) -> Expr:
    a, b = match_operands(left, right, name)
    if not a.dtype.is_integral:
        raise DTypeError(f"`{name}` needs integers, got {a!r} of dtype {a.dtype!s}")
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return IntImm(a.dtype, wrap_int(fold(a.value, b.value), a.dtype))
    return Call(a.dtype, Op.get(f"tir.{name}"), (a, b))


def _checked_shift(left: object, right: object, symbol: str) -> None:
    a = as_expr(left) if not isinstance(left, (int, float)) else None
    bits = a.dtype.bits if a is not None else 64
    amount = right.value if isinstance(right, IntImm) else right
    if isinstance(amount, int) and not 0 <= amount < bits:
        raise DTypeError(f"`{symbol}` by {amount}: the amount must be at least 0 and below {bits}")


def shift_left(left: object, right: object) -> Expr:
    """`left << right`."""
    _checked_shift(left, right, "<<")
    return _bits("shift_left", lambda a, b: a << b, left, right)


def shift_right(left: object, right: object) -> Expr:
    """`left >> right`: arithmetic for signed, logical for unsigned integers."""
    _checked_shift(left, right, ">>")
    return _bits("shift_right", lambda a, b: a >> b, left, right)


def bitwise_and(left: object, right: object) -> Expr:
    """`left & right`."""
    return _bits("bitwise_and", lambda a, b: a & b, left, right)


def bitwise_or(left: object, right: object) -> Expr:
    """`left | right`."""
    return _bits("bitwise_or", lambda a, b: a | b, left, right)


def bitwise_xor(left: object, right: object) -> Expr:
    """`left ^ right`."""
    return _bits("bitwise_xor", lambda a, b: a ^ b, left, right)


def bitwise_not(value: object) -> Expr:
    """`~value`."""
    operand = as_expr(value)
    if not operand.dtype.is_integral:
        raise DTypeError(f"`~` needs an integer, got {operand!r} of dtype {operand.dtype!s}")
    if operand.dtype.is_bool:
        return logical_not(operand)
    return Call(operand.dtype, Op.get("tir.bitwise_not"), (operand,))


bind_constructors(sys.modules[__name__])
