"""Integer arithmetic in C, where overflow and some divisions are undefined behaviour."""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.dtype import UINT16, DType
from tilewright.ir.expr import (
    Add,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Mul,
    Sub,
    const_int_value,
)
from tilewright.ir.rewrite import walk
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import FunctionEmitter, Precedence, Text, emits
from tilewright.target.codegen.c.types import suffix, value_type
from tilewright.tir.buffer import BufferLoad

SUMS: Final = {
    Add: ("+", Precedence.SUM),
    Sub: ("-", Precedence.SUM),
    Mul: ("*", Precedence.PRODUCT),
}
TRUNCATED: Final = {Div: ("/", "div"), Mod: ("%", "mod")}
FLOORED: Final = {FloorDiv: ("/", "floordiv"), FloorMod: ("%", "floormod")}


@emits(IntImm)
def _integer(emitter: FunctionEmitter, value: IntImm) -> Text:
    """A constant with a suffix or macro that fixes its type."""
    dtype, number = value.dtype, value.value
    if dtype.is_bool:
        return Text("true" if number else "false")
    if dtype.bits < 64:
        if number == -(1 << 31):
            return Text("(-2147483647 - 1)")
        end = "u" if dtype.is_uint and dtype.bits == 32 else ""
        return Text(f"{number}{end}", Precedence.PRIMARY if number >= 0 else Precedence.UNARY)
    if number == -(1 << 63):
        return Text("INT64_MIN")
    return Text(f"{'UINT64_C' if dtype.is_uint else 'INT64_C'}({number})")


def beside(emitter: FunctionEmitter, expr: Expr, other: Expr, precedence: int = 0) -> str:
    """An operand, without a cast where the other operand already fixes the type."""
    if isinstance(other, (IntImm, Cast)):
        return emitter.code(expr, precedence)
    return plain(emitter, expr, precedence)


def plain(emitter: FunctionEmitter, expr: Expr, precedence: int = 0) -> str:
    """A value, without a cast: its use, such as an index, converts it."""
    dtype = expr.dtype
    if isinstance(expr, IntImm) and abs(expr.value) < 1 << 31 and not dtype.is_bool:
        number = expr.value
        return f"({number})" if number < 0 and precedence > 0 else str(number)
    if isinstance(expr, Cast) and dtype.is_int:
        source = expr.value.dtype
        if source.is_integral and source.bits < dtype.bits:
            return emitter.code(expr.value, precedence)
    return emitter.code(expr, precedence)


def sum_or_product(emitter: FunctionEmitter, expr: Any) -> Text:
    """An addition, subtraction or multiplication of integers."""
    dtype: DType = expr.dtype
    if dtype.is_int and dtype.bits >= 32 and not _fits(emitter, expr):
        return Text(f"({value_type(dtype)}){_unsigned(emitter, expr)}", Precedence.UNARY)
    operator, precedence = SUMS[type(expr)]
    left = beside(emitter, expr.a, expr.b, precedence)
    right = beside(emitter, expr.b, expr.a, precedence + 1)
    if dtype is UINT16 and type(expr) is Mul:
        left = f"(uint32_t){emitter.code(expr.a, Precedence.UNARY)}"
    if dtype.is_bool:
        return Text(f"({left} {operator} {right}) != 0", Precedence.EQUALITY)
    return emitter.round(dtype, Text(f"{left} {operator} {right}", precedence))


def _unsigned(emitter: FunctionEmitter, expr: Any) -> str:
    """`expr` without its sign, where wrapping is defined, in parentheses."""
    operator, precedence = SUMS[type(expr)]
    left = _unsigned_operand(emitter, expr.a, expr.dtype)
    if type(expr.b) in SUMS and not _fits(emitter, expr.b):
        right = _unsigned(emitter, expr.b)
    else:
        # The other operand is converted to the type of the first one.
        right = plain(emitter, expr.b, precedence + 1)
    return f"({left} {operator} {right})"


def _unsigned_operand(emitter: FunctionEmitter, expr: Expr, dtype: DType) -> str:
    if type(expr) in SUMS and not _fits(emitter, expr):
        return _unsigned(emitter, expr)
    return f"(uint{dtype.bits}_t){plain(emitter, expr, Precedence.UNARY)}"


def _fits(emitter: FunctionEmitter, expr: Expr) -> bool:
    """Whether the value provably fits its type, as all index arithmetic does."""
    if expr in emitter.index_sums:
        return True
    low, high = emitter.analyzer.const_int_bound(expr)
    return low >= expr.dtype.min_int and high <= expr.dtype.max_int


def index(emitter: FunctionEmitter, expr: Expr) -> str:
    """The index of an access.

    A sum of products of loop variables and sizes does not overflow: the buffer is in memory.
    """
    parts: list[Expr] = []
    _collect_sums(expr, parts)
    if parts and not any(isinstance(node, (BufferLoad, Call)) for node in walk(expr)):
        emitter.index_sums.update(parts)
    return plain(emitter, expr)


def division(emitter: FunctionEmitter, expr: Any) -> Text:
    """A quotient or remainder of integers, rounded towards zero or down."""
    dtype: DType = expr.dtype
    floored = isinstance(expr, (FloorDiv, FloorMod))
    operator, name = (FLOORED if floored else TRUNCATED)[type(expr)]
    prove = emitter.analyzer.can_prove_greater_equal
    divisor = const_int_value(expr.b)
    safe = divisor not in (None, 0, -1) or (divisor is None and prove(expr.b, 1))
    if floored and dtype.is_int:
        safe = safe and prove(expr.b, 1) and prove(expr.a, 0)
    if safe:
        left = beside(emitter, expr.a, expr.b, Precedence.PRODUCT)
        right = beside(emitter, expr.b, expr.a, Precedence.PRODUCT + 1)
        return emitter.round(dtype, Text(f"{left} {operator} {right}", Precedence.PRODUCT))
    kind = suffix(dtype)
    name = name.removeprefix("floor") if dtype.is_uint else name
    code = prelude.division(name, kind, value_type(dtype), dtype.is_int)
    emitter.helper(f"{name}_{kind}", code)
    return Text(f"tw_{name}_{kind}({emitter.code(expr.a)}, {emitter.code(expr.b)})")


def integer_extreme(emitter: FunctionEmitter, expr: Any, operator: str) -> Text:
    """The smaller or the larger of two integers."""
    a, b = emitter.temporary(expr.a), emitter.temporary(expr.b)
    return Text(f"{a} {operator} {b} ? {a} : {b}", Precedence.CONDITIONAL)


def _collect_sums(expr: Expr, parts: list[Expr]) -> None:
    if type(expr) in SUMS:
        parts.append(expr)
        _collect_sums(expr.a, parts)  # type: ignore[attr-defined]
        _collect_sums(expr.b, parts)  # type: ignore[attr-defined]
