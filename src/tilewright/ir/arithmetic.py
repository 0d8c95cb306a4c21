"""Constructors of arithmetic expressions: promotion of dtypes and folding of constants.

Folding is limited to what needs no knowledge of the operands' values: two constants, and neutral
elements. Algebra belongs to `tilewright.arith`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from tilewright.error import DTypeError
from tilewright.ir.convert import as_expr, cast, const, wrap_int
from tilewright.ir.dtype import BOOL, DType, promote
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
    Or,
    Select,
    Sub,
)
from tilewright.ir.folding import fold_constants
from tilewright.ir.op import Op, register_op
from tilewright.ir.operators import bind_constructors

for _name in ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor"):
    register_op(f"tir.{_name}", arity=2)
register_op("tir.bitwise_not", arity=1)


# --- operands -------------------------------------------------------------------------------


def match_operands(left: object, right: object, operation: str) -> tuple[Expr, Expr]:
    """Both operands as expressions of one dtype; a plain number takes the other's dtype.

    Raises:
        DTypeError: if no dtype holds both; it names `operation`.
    """
    a: Expr = left if isinstance(left, Expr) else _operand(left, right)
    b: Expr = right if isinstance(right, Expr) else _operand(right, left)
    if a.dtype is b.dtype:
        return a, b
    try:
        dtype = promote(a.dtype, b.dtype)
    except DTypeError as error:
        raise DTypeError(f"`{operation}` of {a!r} and {b!r}: {error}") from None
    return cast(dtype, a), cast(dtype, b)


def _operand(value: object, other: object) -> Expr:
    """`value` as an expression: of the dtype of `other` if it is a number that fits there."""
    if type(value) is int and isinstance(other, Expr) and other.dtype.is_integral:
        # By far the most common case, which the general one below would take twice as long for.
        dtype = other.dtype.element
        if dtype.min_int <= value <= dtype.max_int and not dtype.is_bool:
            return IntImm(dtype, value)
    if isinstance(value, (int, float)) and isinstance(other, Expr):
        dtype = other.dtype
        if dtype.is_float or (dtype.is_integral and isinstance(value, int) and _fits(value, dtype)):
            return const(value, dtype.element)
    return as_expr(value)


def _fits(value: int, dtype: DType) -> bool:
    if dtype.is_bool:
        return isinstance(value, bool)
    return dtype.min_int <= value <= dtype.max_int


def _match_numbers(left: object, right: object, operation: str) -> tuple[Expr, Expr]:
    a, b = match_operands(left, right, operation)
    if not (a.dtype.is_integral or a.dtype.is_float):
        raise DTypeError(f"`{operation}` needs numbers, got {a!r} of dtype {a.dtype!s}")
    return a, b


_FOLDABLE = frozenset((IntImm, FloatImm, Broadcast))
"""The classes of operands that may make an operator unnecessary."""


def _is_value(expr: Expr, value: int) -> bool:
    """Whether `expr` is the constant `value`, or a vector of it."""
    if type(expr) is Broadcast:
        expr = expr.value
    return (type(expr) is IntImm or type(expr) is FloatImm) and expr.value == value


# --- arithmetic -----------------------------------------------------------------------------


def add(left: object, right: object) -> Expr:
    """`left + right`."""
    a, b = _match_numbers(left, right, "+")
    if type(a) not in _FOLDABLE and type(b) not in _FOLDABLE:
        return Add(a, b)
    folded = fold_constants(Add, a, b) if type(a) is type(b) else None
    if folded is not None:
        return folded
    # For floats only -0.0 is neutral in every case, but x + 0.0 differs from x for -0.0 alone;
    # keep what the user wrote.
    if a.dtype.is_integral:
        if _is_value(a, 0):
            return b
        if _is_value(b, 0):
            return a
    return Add(a, b)


def subtract(left: object, right: object) -> Expr:
    """`left - right`."""
    a, b = _match_numbers(left, right, "-")
    if type(a) not in _FOLDABLE and type(b) not in _FOLDABLE:
        return Sub(a, b)
    folded = fold_constants(Sub, a, b) if type(a) is type(b) else None
    if folded is not None:
        return folded
    return a if a.dtype.is_integral and _is_value(b, 0) else Sub(a, b)


def negative(value: object) -> Expr:
    """`-value`, which for floats also changes the sign of a zero."""
    operand = as_expr(value)
    if operand.dtype.is_uint or operand.dtype.is_bool:
        raise DTypeError(f"cannot negate {operand!r} of dtype {operand.dtype!s}")
    return multiply(operand, -1)


def multiply(left: object, right: object) -> Expr:
    """`left * right`."""
    a, b = _match_numbers(left, right, "*")
    if type(a) not in _FOLDABLE and type(b) not in _FOLDABLE:
        return Mul(a, b)
    folded = fold_constants(Mul, a, b) if type(a) is type(b) else None
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
    return Mul(a, b)


def divide(left: object, right: object) -> Expr:
    """`left / right` for floats; refused for integers, whose rounding must be chosen."""
    a, b = _match_numbers(left, right, "/")
    if a.dtype.is_integral:
        raise DTypeError(
            f"`/` of integers {a!r} and {b!r} is ambiguous: use floordiv (//) or truncdiv"
        )
    folded = fold_constants(Div, a, b)
    if folded is not None:
        return folded
    return a if _is_value(b, 1) else Div(a, b)


def _divide_like(kind: type[Any], left: object, right: object) -> Expr:
    a, b = _match_numbers(left, right, kind.symbol)
    if _is_value(b, 0) and not a.dtype.is_float:
        raise DTypeError(f"`{kind.symbol}` of {a!r} by zero")
    folded = fold_constants(kind, a, b) if type(a) is type(b) else None
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
    return _divide_like(FloorDiv, left, right)


def floormod(left: object, right: object) -> Expr:
    """`left % right`, with the sign of `right`."""
    return _divide_like(FloorMod, left, right)


def truncdiv(left: object, right: object) -> Expr:
    """Quotient rounded towards zero."""
    return _divide_like(Div, left, right)


def truncmod(left: object, right: object) -> Expr:
    """Remainder with the sign of `left`."""
    return _divide_like(Mod, left, right)


def _extremum(kind: type[Any], left: object, right: object) -> Expr:
    a, b = _match_numbers(left, right, kind.symbol)
    if a is b:
        return a
    folded = fold_constants(kind, a, b) if type(a) is type(b) else None
    return kind(a, b) if folded is None else folded


def minimum(left: object, right: object) -> Expr:
    """The smaller of the two; NaN where either is NaN."""
    return _extremum(Min, left, right)


def maximum(left: object, right: object) -> Expr:
    """The larger of the two; NaN where either is NaN."""
    return _extremum(Max, left, right)


def absolute(value: object) -> Expr:
    """The absolute value."""
    operand = as_expr(value)
    if operand.dtype.is_float:
        return Call(operand.dtype, Op.get("tir.fabs"), (operand,))
    if operand.dtype.is_uint:
        return operand
    return Select(greater_equal(operand, 0), operand, negative(operand))


# --- comparison and logic -------------------------------------------------------------------


def _compare(kind: type[Any], left: object, right: object) -> Expr:
    a, b = match_operands(left, right, kind.symbol)
    if type(a) not in _FOLDABLE:
        return kind(a, b)
    folded = fold_constants(kind, a, b) if type(a) is type(b) else None
    return folded if folded is not None else kind(a, b)


def equal(left: object, right: object) -> Expr:
    """`left == right`."""
    return _compare(EQ, left, right)


def not_equal(left: object, right: object) -> Expr:
    """`left != right`."""
    return _compare(NE, left, right)


def less(left: object, right: object) -> Expr:
    """`left < right`."""
    return _compare(LT, left, right)


def less_equal(left: object, right: object) -> Expr:
    """`left <= right`."""
    return _compare(LE, left, right)


def greater(left: object, right: object) -> Expr:
    """`left > right`."""
    return _compare(GT, left, right)


def greater_equal(left: object, right: object) -> Expr:
    """`left >= right`."""
    return _compare(GE, left, right)


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


def _match_integers(left: object, right: object, operation: str) -> tuple[Expr, Expr]:
    a, b = match_operands(left, right, operation)
    if not a.dtype.is_integral:
        raise DTypeError(f"`{operation}` needs integers, got {a!r} of dtype {a.dtype!s}")
    return a, b


def _bits(name: str, fold: Callable[[int, int], int], a: Expr, b: Expr) -> Expr:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return IntImm(a.dtype, wrap_int(fold(a.value, b.value), a.dtype))
    return Call(a.dtype, Op.get(f"tir.{name}"), (a, b))


def _shift_operands(left: object, right: object, operation: str) -> tuple[Expr, Expr]:
    a, b = _match_integers(left, right, operation)
    amount = b.value if isinstance(b, Broadcast) else b
    bits = a.dtype.bits
    if isinstance(amount, IntImm) and not 0 <= amount.value < bits:
        raise DTypeError(
            f"`{operation}` of {a!r} by {amount.value}: the amount must be at least 0 and below "
            f"{bits}"
        )
    return a, b


def shift_left(left: object, right: object) -> Expr:
    """`left << right`."""
    return _bits("shift_left", operator.lshift, *_shift_operands(left, right, "<<"))


def shift_right(left: object, right: object) -> Expr:
    """`left >> right`: arithmetic for signed, logical for unsigned integers."""
    return _bits("shift_right", operator.rshift, *_shift_operands(left, right, ">>"))


def bitwise_and(left: object, right: object) -> Expr:
    """`left & right`."""
    return _bits("bitwise_and", operator.and_, *_match_integers(left, right, "&"))


def bitwise_or(left: object, right: object) -> Expr:
    """`left | right`."""
    return _bits("bitwise_or", operator.or_, *_match_integers(left, right, "|"))


def bitwise_xor(left: object, right: object) -> Expr:
    """`left ^ right`."""
    return _bits("bitwise_xor", operator.xor, *_match_integers(left, right, "^"))


def bitwise_not(value: object) -> Expr:
    """`~value`."""
    operand = as_expr(value)
    if not operand.dtype.is_integral:
        raise DTypeError(f"`~` needs an integer, got {operand!r} of dtype {operand.dtype!s}")
    if operand.dtype.is_bool:
        return logical_not(operand)
    return Call(operand.dtype, Op.get("tir.bitwise_not"), (operand,))


CONSTRUCTORS: Final[dict[type[Expr], Callable[[object, object], Expr]]] = {
    Add: add, Sub: subtract, Mul: multiply, Div: truncdiv, Mod: truncmod,
    FloorDiv: floordiv, FloorMod: floormod, Min: minimum, Max: maximum,
    EQ: equal, NE: not_equal, LT: less, LE: less_equal, GT: greater, GE: greater_equal,
    And: logical_and, Or: logical_or,
}  # fmt: skip
"""What makes a node of each class with two operands, of integers in the case of `Div`."""

bind_constructors(globals())
