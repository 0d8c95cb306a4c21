"""Variables, constants and operators."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    SizeVar,
    StringImm,
    Sub,
    Var,
    const_int_value,
)
from tilewright.target.codegen.llvm.conversions import broadcast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.float_remainders import float_remainder
from tilewright.target.codegen.llvm.intrinsics import intrinsic
from tilewright.target.codegen.llvm.types import HALVES, constant, splat, value_type
from tilewright.target.target import Target

_INT_OPS: Final = {Add: "add", Sub: "sub", Mul: "mul"}
_FLOAT_OPS: Final = {Add: "fadd", Sub: "fsub", Mul: "fmul", Div: "fdiv"}
_CONDITIONS: Final = {
    EQ: ("eq", "eq", "oeq"),
    NE: ("ne", "ne", "une"),
    LT: ("slt", "ult", "olt"),
    LE: ("sle", "ule", "ole"),
    GT: ("sgt", "ugt", "ogt"),
    GE: ("sge", "uge", "oge"),
}
"""Conditions of a comparison of signed integers, of unsigned ones, and of floats."""


@emits(Var, SizeVar)
def _variable(emitter: FunctionEmitter, var: Var) -> str:
    return emitter.variable(var)


@emits(IntImm, FloatImm)
def _constant(emitter: FunctionEmitter, expr: IntImm | FloatImm) -> str:
    return constant(expr.value, expr.dtype)


@emits(StringImm)
def _string(emitter: FunctionEmitter, expr: StringImm) -> str:
    return emitter.module.string(expr.value)


# --- operators -------------------------------------------------------------------------------


@emits(Add, Sub, Mul, Div, Mod)
def _arithmetic(emitter: FunctionEmitter, expr: Any) -> str:
    dtype = expr.dtype
    a, b = emitter.operand(expr.a), emitter.operand(expr.b)
    if dtype.is_float:
        if isinstance(expr, Mod):
            return float_remainder(emitter, dtype, a, b)
        return emitter.halves.rounded(
            emitter.pure(f"{_FLOAT_OPS[type(expr)]} {value_type(dtype)} {a}, {b}", a, b), dtype
        )
    if isinstance(expr, (Div, Mod)):
        return truncated_division(emitter, expr, a, b)
    # The sum of two bools tells whether any is true, as in C and numpy.
    operation = "or" if dtype.is_bool and isinstance(expr, Add) else _INT_OPS[type(expr)]
    return emitter.pure(f"{operation} {value_type(dtype)} {a}, {b}", a, b)


@emits(FloorDiv, FloorMod)
def _floor_division(emitter: FunctionEmitter, expr: FloorDiv | FloorMod) -> str:
    return floored_division(emitter, expr, emitter.operand(expr.a), emitter.operand(expr.b))


@emits(*_CONDITIONS)
def _compare(emitter: FunctionEmitter, expr: Any) -> str:
    dtype = expr.a.dtype
    a, b = emitter.operand(expr.a), emitter.operand(expr.b)
    signed, unsigned, ordered = _CONDITIONS[type(expr)]
    if dtype.is_float:
        return emitter.pure(f"fcmp {ordered} {value_type(dtype)} {a}, {b}", a, b)
    condition = signed if dtype.is_int else unsigned
    return emitter.pure(f"icmp {condition} {value_type(dtype)} {a}, {b}", a, b)


@emits(Min, Max)
def _extreme(emitter: FunctionEmitter, expr: Min | Max) -> str:
    dtype, is_max = expr.dtype, isinstance(expr, Max)
    a, b = emitter.operand(expr.a), emitter.operand(expr.b)
    if not dtype.is_float:
        sign = "s" if dtype.is_int else "u"
        if dtype.is_bool:
            op = "or" if is_max else "and"
            return emitter.pure(f"{op} {value_type(dtype)} {a}, {b}", a, b)
        return intrinsic(emitter, f"{sign}{'max' if is_max else 'min'}", dtype, a, b)
    if emitter.module.target.architecture == "aarch64":  # has it as an instruction
        return intrinsic(emitter, "maximum" if is_max else "minimum", dtype, a, b)
    ty = value_type(dtype)
    relation = "ogt" if is_max else "olt"
    if _is_number(expr.b):
        a, b = b, a
    # x86 has `a > b ? a : b` as one instruction; it gives b where one of them is NaN.
    condition = emitter.pure(f"fcmp {relation} {ty} {a}, {b}", a, b)
    chosen = emitter.select(condition, a, b, dtype)
    if _is_number(expr.a) or _is_number(expr.b):
        return chosen
    is_nan = emitter.pure(f"fcmp uno {ty} {a}, {a}", a)
    if dtype.lanes > 1 and dtype.bits >= 32 and _blends_by_vectors(emitter.module.target):
        return _all_bits_where(emitter, is_nan, chosen, dtype)
    return emitter.select(is_nan, a, chosen, dtype)


def _blends_by_vectors(target: Target) -> bool:
    """Whether comparisons leave all bits of a lane set, and `or` runs on more ports than a blend:
    on x86 without registers for masks."""
    return target.architecture == "x86_64" and target.vector_bits < 512


def _all_bits_where(emitter: FunctionEmitter, condition: str, value: str, dtype: DType) -> str:
    """A vector of floats with NaN, of which all bits are set, where a condition holds."""
    integers = value_type(DType(f"int{dtype.bits}").with_lanes(dtype.lanes))
    floats = value_type(dtype)
    mask = emitter.pure(f"sext <{dtype.lanes} x i1> {condition} to {integers}", condition)
    bits = emitter.pure(f"bitcast {floats} {value} to {integers}", value)
    either = emitter.pure(f"or {integers} {mask}, {bits}", mask, bits)
    return emitter.pure(f"bitcast {integers} {either} to {floats}", either)


@emits(Select)
def _select(emitter: FunctionEmitter, expr: Select) -> str:
    condition, lanes = emitter.operand(expr.condition), expr.dtype.lanes
    if expr.condition.dtype.lanes != lanes:
        condition = broadcast(emitter, condition, expr.condition.dtype, lanes)
    yes, no = emitter.operand(expr.true_value), emitter.operand(expr.false_value)
    if expr.dtype.element not in HALVES:
        return emitter.select(condition, yes, no, expr.dtype)
    # One of the numbers is stored, perhaps, without being rounded again.
    yes, no = (emitter.halves.narrowed(value, expr.dtype) for value in (yes, no))
    bits = emitter.select(condition, yes, no, DType("int16").with_lanes(lanes))
    return emitter.halves.widened(bits, expr.dtype)


@emits(And, Or)
def _logical(emitter: FunctionEmitter, expr: And | Or) -> str:
    is_and = isinstance(expr, And)
    a = emitter.operand(expr.a)
    if expr.dtype.lanes > 1 or is_speculable(expr.b):
        b = emitter.operand(expr.b)
        op = "and" if is_and else "or"
        return emitter.pure(f"{op} {value_type(expr.dtype)} {a}, {b}", a, b)

    def evaluated() -> str:
        return emitter.operand(expr.b)

    def known() -> str:
        return constant(not is_and, expr.dtype)

    yes, no = (evaluated, known) if is_and else (known, evaluated)
    return emitter.choose(a, yes, no, expr.dtype)


@emits(Not)
def _not(emitter: FunctionEmitter, expr: Not) -> str:
    a = emitter.operand(expr.a)
    ones = splat("i1", "true", expr.dtype.lanes)
    return emitter.pure(f"xor {value_type(expr.dtype)} {a}, {ones}", a)


@emits(Let)
def _let(emitter: FunctionEmitter, expr: Let) -> str:
    emitter.define_variable(expr.var, expr.value)
    return emitter.operand(expr.body)


def _is_number(expr: Expr) -> bool:
    """Whether `expr` is a constant that is not NaN."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return isinstance(expr, FloatImm) and not math.isnan(expr.value)


def is_speculable(expr: Expr) -> bool:
    """Whether evaluating `expr` needlessly is cheap and harmless."""
    if isinstance(expr, (Var, IntImm, FloatImm)):
        return True
    if isinstance(expr, (BinaryExpr, Not, Cast, Select)):
        if isinstance(expr, (Div, Mod, FloorDiv, FloorMod)) and not isinstance(expr.b, IntImm):
            return False
        return all(is_speculable(child) for child in expr.children())  # type: ignore[arg-type]
    return False


# --- division of integers ---------------------------------------------------------------------
# A divisor that is 0, or -1 under the smallest number, would stop the process on some machines;
# such a division gives an unspecified number instead.


def truncated_division(emitter: FunctionEmitter, expr: Any, a: str, b: str) -> str:
    """Quotient (`Div`) or remainder (`Mod`) of a division rounded towards zero."""
    dtype = expr.dtype
    is_quotient = isinstance(expr, Div)
    op = ("s" if dtype.is_int else "u") + ("div" if is_quotient else "rem")
    divisor = _safe_divisor(emitter, expr.b, b, dtype)
    result = emitter.pure(f"{op} {value_type(dtype)} {a}, {divisor}", a, divisor)
    return _negated_if_minus_one(emitter, result, a, b, expr) if is_quotient else result


def floored_division(emitter: FunctionEmitter, expr: Any, a: str, b: str) -> str:
    """Quotient (`FloorDiv`) or remainder (`FloorMod`) of a division rounded down."""
    dtype = expr.dtype
    ty = value_type(dtype)
    is_quotient = isinstance(expr, FloorDiv)
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
