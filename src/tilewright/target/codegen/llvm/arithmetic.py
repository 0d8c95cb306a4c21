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
)
from tilewright.target.codegen.llvm.conversions import broadcast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.float_remainders import float_remainder
from tilewright.target.codegen.llvm.integer_division import (
    floored_division,
    truncated_division,
)
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
