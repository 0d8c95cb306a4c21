"""Scalar expressions in C."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Call,
    Cast,
    Expr,
    FloatImm,
    IntImm,
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
from tilewright.ir.types import PointerType
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import Precedence, Text, c_string
from tilewright.target.codegen.c.integers import FLOORED, SUMS, TRUNCATED, IntegerEmitter
from tilewright.target.codegen.c.types import HALVES, memory_type, value_type
from tilewright.tir.buffer import BufferLoad

COMPARISONS: Final[dict[type[Expr], tuple[str, int]]] = {
    EQ: ("==", Precedence.EQUALITY),
    NE: ("!=", Precedence.EQUALITY),
    LT: ("<", Precedence.RELATION),
    LE: ("<=", Precedence.RELATION),
    GT: (">", Precedence.RELATION),
    GE: (">=", Precedence.RELATION),
}
OPPOSITE: Final = {EQ: NE, NE: EQ, LT: GE, LE: GT, GT: LE, GE: LT}


class ExpressionEmitter(IntegerEmitter):
    """All expressions but calls."""

    def __init__(self, helpers: dict[str, str]) -> None:
        super().__init__(helpers)
        self._emitters |= {
            Var: self.variable,
            SizeVar: self.variable,
            IntImm: self.integer,
            FloatImm: self.floating,
            StringImm: self.string,
            Cast: self.cast,
            Min: self.extreme,
            Max: self.extreme,
            And: self.logical,
            Or: self.logical,
            Not: self.negation,
            Select: self.select,
            Let: self.let,
            BufferLoad: self.load,
            Call: self.call,
        }
        self._emitters |= dict.fromkeys(SUMS, self.sum_)
        self._emitters |= dict.fromkeys((*TRUNCATED, *FLOORED), self.quotient)
        self._emitters |= dict.fromkeys(COMPARISONS, self.comparison)

    # --- leaves -----------------------------------------------------------------------------

    def variable(self, var: Var) -> Text:
        name = self.name_of(var)
        self.read.add(name)
        return Text(name)

    def floating(self, value: FloatImm) -> Text:
        number = value.value
        if math.isnan(number):
            return Text("NAN")
        if math.isinf(number):
            return Text("INFINITY") if number > 0 else Text("-INFINITY", Precedence.UNARY)
        end = "" if value.dtype.bits == 64 else "f"
        negative = math.copysign(1.0, number) < 0
        return Text(f"{number!r}{end}", Precedence.UNARY if negative else Precedence.PRIMARY)

    def string(self, value: StringImm) -> Text:
        return Text(c_string(value.value))

    # --- operators --------------------------------------------------------------------------

    def sum_(self, expr: Any) -> Text:
        if expr.dtype.is_integral:
            return self.sum_or_product(expr)
        operator, precedence = SUMS[type(expr)]
        left, right = self.code(expr.a, precedence), self.code(expr.b, precedence + 1)
        return self.round(expr.dtype, Text(f"{left} {operator} {right}", precedence))

    def quotient(self, expr: Any) -> Text:
        dtype: DType = expr.dtype
        if not dtype.is_float:
            return self.division(expr)
        if isinstance(expr, Mod):
            return self.round(dtype, Text(self.library("fmod", dtype, (expr.a, expr.b))))
        left = self.code(expr.a, Precedence.PRODUCT)
        right = self.code(expr.b, Precedence.PRODUCT + 1)
        return self.round(dtype, Text(f"{left} / {right}", Precedence.PRODUCT))

    def comparison(self, expr: Any) -> Text:
        operator, precedence = COMPARISONS[type(expr)]
        left = self.beside(expr.a, expr.b, precedence + 1)
        right = self.beside(expr.b, expr.a, precedence + 1)
        return Text(f"{left} {operator} {right}", precedence)

    def extreme(self, expr: Min | Max) -> Text:
        name = "min" if isinstance(expr, Min) else "max"
        if expr.dtype.is_float:
            kind = "f64" if expr.dtype.bits == 64 else "f32"
            c_type = "double" if kind == "f64" else "float"
            self.helper(f"extremes_{kind}", prelude.float_extremes(kind, c_type))
            return Text(f"tw_{name}_{kind}({self.code(expr.a)}, {self.code(expr.b)})")
        return self.integer_extreme(expr, "<" if name == "min" else ">")

    def logical(self, expr: And | Or) -> Text:
        is_and = isinstance(expr, And)
        operator, precedence = ("&&", Precedence.AND) if is_and else ("||", Precedence.OR)
        # `a && b || c` is clear to C and not to people: other operators get parentheses.
        chained = isinstance(expr.a, type(expr))
        left = self.code(expr.a, precedence if chained else Precedence.BIT_OR)
        branch, right = self.branch_of(expr.b)
        if not branch:
            if right.precedence < Precedence.BIT_OR:
                right = Text(f"({right.code})")
            return Text(f"{left} {operator} {right.code}", precedence)
        result = self.names.fresh("condition")
        self.line(f"bool {result} = {left};")
        self.line(f"if ({result if is_and else '!' + result}) {{")
        self.lines += branch
        self.line(f"  {result} = {right.code};")
        self.line("}")
        return Text(result)

    def negation(self, expr: Not) -> Text:
        return self.opposite(expr.a)

    def opposite(self, condition: Expr) -> Text:
        """`not condition`."""
        kind = type(condition)
        if isinstance(condition, Not):
            return self.text(condition.a)
        # The opposite of a < b is not a >= b where one of them is NaN.
        if kind in (EQ, NE) or (kind in OPPOSITE and condition.a.dtype.is_integral):  # type: ignore[attr-defined]
            return self.comparison(OPPOSITE[kind](condition.a, condition.b))  # type: ignore[attr-defined]
        return Text(f"!{self.code(condition, Precedence.UNARY)}", Precedence.UNARY)

    def select(self, expr: Select) -> Text:
        return self.conditional(expr.condition, expr.true_value, expr.false_value, expr.dtype)

    def conditional(self, condition: Expr, yes: Expr, no: Expr, dtype: DType) -> Text:
        """`condition ? yes : no`; as an `if` where one of the sides needs statements."""
        test = self.text(condition)
        yes_lines, yes_text = self.branch_of(yes)
        no_lines, no_text = self.branch_of(no)
        if not yes_lines and not no_lines:
            parts = [t.at(Precedence.OR) for t in (test, yes_text)]
            # A chain `a ? x : b ? y : z` needs no parentheses.
            parts.append(no_text.at(Precedence.CONDITIONAL))
            return Text(f"{parts[0]} ? {parts[1]} : {parts[2]}", Precedence.CONDITIONAL)
        result = self.names.fresh("value")
        self.line(f"{value_type(dtype)} {result};")
        self.line(f"if ({test.code}) {{")
        self.lines += yes_lines
        self.line(f"  {result} = {yes_text.code};")
        self.line("} else {")
        self.lines += no_lines
        self.line(f"  {result} = {no_text.code};")
        self.line("}")
        return Text(result)

    def let(self, expr: Let) -> Text:
        value = self.code(expr.value)
        self.line(f"{self.declared(expr.var)} = {value};")
        return self.text(expr.body)

    def declared(self, var: Var) -> str:
        """The declaration of a new variable, without a value."""
        annotation, name = var.type_annotation, self.names.define(var)
        if isinstance(annotation, PointerType) and annotation.element_type.dtype != "void":
            return f"{memory_type(annotation.element_type.dtype)}* {name}"
        return f"const {value_type(var.dtype)} {name}"

    def cast(self, expr: Cast) -> Text:
        if expr.dtype.is_bool:
            return Text(f"{self.code(expr.value, Precedence.EQUALITY)} != 0", Precedence.EQUALITY)
        if expr.dtype in HALVES and expr.value.dtype == "float64":
            self.helper("odd_f32", prelude.ROUND_TO_ODD)
            return self.round(expr.dtype, Text(f"tw_odd_f32({self.code(expr.value)})"))
        value = self.code(expr.value, Precedence.UNARY)
        if expr.dtype in HALVES:
            return self.round(expr.dtype, Text(f"(float){value}", Precedence.UNARY))
        return Text(f"({value_type(expr.dtype)}){value}", Precedence.UNARY)

    # --- memory -----------------------------------------------------------------------------

    def element(self, access: Any) -> str:
        """The C lvalue of a one-dimensional load or store."""
        if len(access.indices) != 1:
            raise CodegenError(f"target c: `{access!r}` is not one-dimensional")
        index = self.index(access.indices[0])
        pointer = self.name_of(access.buffer.data)
        annotation = access.buffer.data.type_annotation
        element = getattr(getattr(annotation, "element_type", None), "dtype", None)
        if element is not access.buffer.dtype:
            pointer = f"(({memory_type(access.buffer.dtype)}*){pointer})"
        return f"{pointer}[{index}]"

    def load(self, load: BufferLoad) -> Text:
        if load.predicate is not None:
            raise CodegenError(f"target c cannot express the masked load `{load!r}`")
        element = self.element(load)
        self.read.add(self.names[load.buffer.data])
        if load.dtype in HALVES:
            return Text(f"tw_load_{self.half_helper(load.dtype)}({element})")
        return Text(element)

    # --- calls ------------------------------------------------------------------------------

    def library(self, name: str, dtype: DType, args: tuple[Expr, ...]) -> str:
        """A call of a function of math.h, in the precision of `dtype`."""
        end = "" if dtype.bits == 64 else "f"
        return f"{name}{end}({', '.join(self.code(arg) for arg in args)})"

    def call(self, call: Call) -> Text:
        raise NotImplementedError  # pragma: no cover, given by calls.CallEmitter
