"""Scalar expressions in C."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType, PointerType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    NEGATED,
    And,
    Cast,
    Expr,
    FloatImm,
    Let,
    Max,
    Min,
    Mod,
    Not,
    Or,
    Select,
    SizeVar,
    StringImm,
    Var,
)
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import FunctionEmitter, Precedence, Text, c_string, emits
from tilewright.target.codegen.c.integers import (
    FLOORED,
    SUMS,
    TRUNCATED,
    beside,
    division,
    index,
    integer_extreme,
    sum_or_product,
)
from tilewright.target.codegen.c.types import HALVES, value_type
from tilewright.tir.buffer import BufferLoad

COMPARISONS: Final[dict[type[Expr], tuple[str, int]]] = {
    EQ: ("==", Precedence.EQUALITY),
    NE: ("!=", Precedence.EQUALITY),
    LT: ("<", Precedence.RELATION),
    LE: ("<=", Precedence.RELATION),
    GT: (">", Precedence.RELATION),
    GE: (">=", Precedence.RELATION),
}


@emits(Var, SizeVar)
def _variable(emitter: FunctionEmitter, var: Var) -> Text:
    name = emitter.name_of(var)
    emitter.read.add(name)
    return Text(name)


@emits(FloatImm)
def _floating(emitter: FunctionEmitter, value: FloatImm) -> Text:
    number = value.value
    if math.isnan(number):
        return Text("NAN")
    if math.isinf(number):
        return Text("INFINITY") if number > 0 else Text("-INFINITY", Precedence.UNARY)
    end = "" if value.dtype.bits == 64 else "f"
    negative = math.copysign(1.0, number) < 0
    return Text(f"{number!r}{end}", Precedence.UNARY if negative else Precedence.PRIMARY)


@emits(StringImm)
def _string(emitter: FunctionEmitter, value: StringImm) -> Text:
    return Text(c_string(value.value))


# --- operators -------------------------------------------------------------------------------


@emits(*SUMS)
def _sum(emitter: FunctionEmitter, expr: Any) -> Text:
    if expr.dtype.is_integral:
        return sum_or_product(emitter, expr)
    operator, precedence = SUMS[type(expr)]
    left, right = emitter.code(expr.a, precedence), emitter.code(expr.b, precedence + 1)
    return emitter.round(expr.dtype, Text(f"{left} {operator} {right}", precedence))


@emits(*TRUNCATED, *FLOORED)
def _quotient(emitter: FunctionEmitter, expr: Any) -> Text:
    dtype: DType = expr.dtype
    if not dtype.is_float:
        return division(emitter, expr)
    if isinstance(expr, Mod):
        return emitter.round(dtype, Text(emitter.library("fmod", dtype, (expr.a, expr.b))))
    left = emitter.code(expr.a, Precedence.PRODUCT)
    right = emitter.code(expr.b, Precedence.PRODUCT + 1)
    return emitter.round(dtype, Text(f"{left} / {right}", Precedence.PRODUCT))


@emits(*COMPARISONS)
def comparison(emitter: FunctionEmitter, expr: Any) -> Text:
    operator, precedence = COMPARISONS[type(expr)]
    left = beside(emitter, expr.a, expr.b, precedence + 1)
    right = beside(emitter, expr.b, expr.a, precedence + 1)
    return Text(f"{left} {operator} {right}", precedence)


@emits(Min, Max)
def _extreme(emitter: FunctionEmitter, expr: Min | Max) -> Text:
    name = "min" if isinstance(expr, Min) else "max"
    if expr.dtype.is_float:
        kind = "f64" if expr.dtype.bits == 64 else "f32"
        c_type = "double" if kind == "f64" else "float"
        emitter.helper(f"extremes_{kind}", prelude.float_extremes(kind, c_type))
        return Text(f"tw_{name}_{kind}({emitter.code(expr.a)}, {emitter.code(expr.b)})")
    return integer_extreme(emitter, expr, "<" if name == "min" else ">")


@emits(And, Or)
def _logical(emitter: FunctionEmitter, expr: And | Or) -> Text:
    is_and = isinstance(expr, And)
    operator, precedence = ("&&", Precedence.AND) if is_and else ("||", Precedence.OR)
    # `a && b || c` is clear to C and not to people: other operators get parentheses.
    chained = isinstance(expr.a, type(expr))
    left = emitter.code(expr.a, precedence if chained else Precedence.BIT_OR)
    branch, right = emitter.branch_of(expr.b)
    if not branch:
        if right.precedence < Precedence.BIT_OR:
            right = Text(f"({right.code})")
        return Text(f"{left} {operator} {right.code}", precedence)
    result = emitter.names.unique("condition")
    emitter.line(f"bool {result} = {left};")
    emitter.line(f"if ({result if is_and else '!' + result}) {{")
    emitter.lines += branch
    emitter.line(f"  {result} = {right.code};")
    emitter.line("}")
    return Text(result)


@emits(Not)
def _negation(emitter: FunctionEmitter, expr: Not) -> Text:
    return opposite(emitter, expr.a)


def opposite(emitter: FunctionEmitter, condition: Expr) -> Text:
    """`not condition`."""
    kind = type(condition)
    if isinstance(condition, Not):
        return emitter.text(condition.a)
    # The opposite of a < b is not a >= b where one of them is NaN.
    if kind in (EQ, NE) or (kind in NEGATED and condition.a.dtype.is_integral):  # type: ignore[attr-defined]
        return comparison(emitter, NEGATED[kind](condition.a, condition.b))  # type: ignore[attr-defined]
    return Text(f"!{emitter.code(condition, Precedence.UNARY)}", Precedence.UNARY)


@emits(Select)
def _select(emitter: FunctionEmitter, expr: Select) -> Text:
    return conditional(emitter, expr.condition, expr.true_value, expr.false_value, expr.dtype)


def conditional(
    emitter: FunctionEmitter, condition: Expr, yes: Expr, no: Expr, dtype: DType
) -> Text:
    """`condition ? yes : no`; as an `if` where one of the sides needs statements."""
    test = emitter.text(condition)
    yes_lines, yes_text = emitter.branch_of(yes)
    no_lines, no_text = emitter.branch_of(no)
    if not yes_lines and not no_lines:
        parts = [t.at(Precedence.OR) for t in (test, yes_text)]
        # A chain `a ? x : b ? y : z` needs no parentheses.
        parts.append(no_text.at(Precedence.CONDITIONAL))
        return Text(f"{parts[0]} ? {parts[1]} : {parts[2]}", Precedence.CONDITIONAL)
    result = emitter.names.unique("value")
    emitter.line(f"{emitter.value_type(dtype)} {result};")
    emitter.line(f"if ({test.code}) {{")
    emitter.lines += yes_lines
    emitter.line(f"  {result} = {yes_text.code};")
    emitter.line("} else {")
    emitter.lines += no_lines
    emitter.line(f"  {result} = {no_text.code};")
    emitter.line("}")
    return Text(result)


@emits(Let)
def _let(emitter: FunctionEmitter, expr: Let) -> Text:
    value = emitter.code(expr.value)
    emitter.line(f"{declared(emitter, expr.var)} = {value};")
    return emitter.text(expr.body)


def declared(emitter: FunctionEmitter, var: Var) -> str:
    """The declaration of a new variable, without a value."""
    annotation, name = var.type_annotation, emitter.names.define(var)
    if isinstance(annotation, PointerType) and annotation.element_type.dtype != "void":
        return f"{emitter.pointer_type(var, annotation.element_type.dtype)} {name}"
    return f"const {emitter.value_type(var.dtype)} {name}"


@emits(Cast)
def _cast(emitter: FunctionEmitter, expr: Cast) -> Text:
    if expr.dtype.is_bool:
        return Text(f"{emitter.code(expr.value, Precedence.EQUALITY)} != 0", Precedence.EQUALITY)
    if expr.dtype in HALVES and expr.value.dtype == "float64":
        emitter.helper("odd_f32", prelude.ROUND_TO_ODD)
        return emitter.round(expr.dtype, Text(f"tw_odd_f32({emitter.code(expr.value)})"))
    value = emitter.code(expr.value, Precedence.UNARY)
    if expr.dtype in HALVES:
        return emitter.round(expr.dtype, Text(f"(float){value}", Precedence.UNARY))
    return Text(f"({value_type(expr.dtype)}){value}", Precedence.UNARY)


# --- memory ----------------------------------------------------------------------------------


def lvalue(emitter: FunctionEmitter, access: Any) -> str:
    """The C lvalue of a one-dimensional load or store."""
    if len(access.indices) != 1:
        raise CodegenError(f"target {emitter.target}: `{access!r}` is not one-dimensional")
    position = index(emitter, access.indices[0])
    pointer = emitter.name_of(access.buffer.data)
    annotation = access.buffer.data.type_annotation
    element = getattr(getattr(annotation, "element_type", None), "dtype", None)
    if element is not access.buffer.dtype:
        kind = emitter.pointer_type(access.buffer.data, access.buffer.dtype)
        pointer = f"(({kind}){pointer})"
    return f"{pointer}[{position}]"


@emits(BufferLoad)
def _load(emitter: FunctionEmitter, load: BufferLoad) -> Text:
    if load.predicate is not None:
        raise CodegenError(f"target {emitter.target} cannot express the masked load `{load!r}`")
    element = lvalue(emitter, load)
    emitter.read.add(emitter.names[load.buffer.data])
    return Text(emitter.loaded(load.dtype, element))
