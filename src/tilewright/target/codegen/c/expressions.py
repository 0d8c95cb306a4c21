"""Scalar expressions in C."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import CodegenError
from tilewright.ir.dtype import UINT16, DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
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
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.names import Names
from tilewright.target.codegen.c.types import HALVES, memory_type, suffix, value_type
from tilewright.tir.buffer import BufferLoad


class Precedence:
    """How tightly C's operators bind."""

    CONDITIONAL, OR, AND, BIT_OR, BIT_XOR, BIT_AND = 3, 4, 5, 6, 7, 8
    EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = 9, 10, 11, 12, 13, 15, 16


class Text(NamedTuple):
    """A C expression, and how tightly its outermost operator binds."""

    code: str
    precedence: int = Precedence.PRIMARY


BINARY: Final[dict[type[Expr], tuple[str, int]]] = {
    Add: ("+", Precedence.SUM),
    Sub: ("-", Precedence.SUM),
    Mul: ("*", Precedence.PRODUCT),
    Div: ("/", Precedence.PRODUCT),
    Mod: ("%", Precedence.PRODUCT),
    EQ: ("==", Precedence.EQUALITY),
    NE: ("!=", Precedence.EQUALITY),
    LT: ("<", Precedence.RELATION),
    LE: ("<=", Precedence.RELATION),
    GT: (">", Precedence.RELATION),
    GE: (">=", Precedence.RELATION),
}


class ExpressionEmitter:
    """Writes expressions; statements that an expression needs go to `self.line` first."""

    def __init__(self, helpers: dict[str, str]) -> None:
        self.helpers = helpers
        self.names = Names()
        self.analyzer = Analyzer()
        self.lines: list[str] = []
        self.depth = 1
        self._emitters: dict[type[Expr], Callable[[Any], Text]] = {
            Var: self.variable,
            SizeVar: self.variable,
            IntImm: self.integer,
            FloatImm: self.floating,
            StringImm: self.string,
            Cast: self.cast,
            FloorDiv: self.floor_division,
            FloorMod: self.floor_division,
            Min: self.extreme,
            Max: self.extreme,
            And: self.logical,
            Or: self.logical,
            Not: self.negation,
            Select: self.select,
            Let: self.let,
            BufferLoad: self.load,
            Call: self.call,
        } | dict.fromkeys(BINARY, self.binary)

    def line(self, code: str) -> None:
        """Add a line of code at the present indentation."""
        self.lines.append("  " * self.depth + code)

    def helper(self, name: str, code: str) -> str:
        """Make sure that the source contains the helper functions `code`."""
        self.helpers.setdefault(name, code)
        return name

    def text(self, expr: Expr) -> Text:
        """`expr` in C."""
        emit = self._emitters.get(expr.__class__)
        if emit is None or expr.dtype.lanes != 1:
            raise CodegenError(f"target c cannot express `{expr!r}` of dtype {expr.dtype!s}")
        return emit(expr)

    def code(self, expr: Expr, precedence: int = 0) -> str:
        """`expr` in C, in parentheses if it binds less tightly than `precedence`."""
        text = self.text(expr)
        return f"({text.code})" if text.precedence < precedence else text.code

    def round(self, dtype: DType, text: Text) -> Text:
        """A result computed in float, rounded to a half type; integers cut to their width."""
        if dtype in HALVES:
            name = HALVES[dtype]
            self.helper(name, prelude.HALF if name == "f16" else prelude.BFLOAT)
            return Text(f"tw_round_{name}({text.code})")
        if dtype.is_integral and dtype.bits < 32 and not dtype.is_bool:
            return Text(f"({value_type(dtype)})({text.code})", Precedence.UNARY)
        return text

    # --- leaves -----------------------------------------------------------------------------

    def variable(self, var: Var) -> Text:
        if var not in self.names:
            raise CodegenError(f"variable {var.name} is used outside of its scope")
        return Text(self.names[var])

    def integer(self, value: IntImm) -> Text:
        if value.dtype.is_bool:
            return Text("true" if value.value else "false")
        if value.dtype.bits < 64:
            end = "u" if value.dtype.is_uint and value.value > 0x7FFFFFFF else ""
            number = value.value
            if number == -(1 << 31):
                return Text("(-2147483647 - 1)")
            return Text(f"{number}{end}", Precedence.PRIMARY if number >= 0 else Precedence.UNARY)
        if value.value == -(1 << 63):
            return Text("INT64_MIN")
        macro = "UINT64_C" if value.dtype.is_uint else "INT64_C"
        return Text(f"{macro}({value.value})")

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

    def binary(self, expr: Any) -> Text:
        operator, precedence = BINARY[type(expr)]
        dtype: DType = expr.a.dtype
        if dtype.is_float and type(expr) is Mod:
            return self.round(dtype, Text(self._library("fmod", dtype, (expr.a, expr.b))))
        left, right = self.code(expr.a, precedence), self.code(expr.b, precedence + 1)
        wraps = type(expr) in (Add, Sub, Mul) and dtype.is_integral
        if wraps and dtype.is_int and dtype.bits >= 32 and not self._is_index(expr):
            # Signed overflow is undefined in C, and wraps around here.
            unsigned, signed = f"uint{dtype.bits}_t", value_type(dtype)
            parts = f"({unsigned})({left}) {operator} ({unsigned})({right})"
            return Text(f"({signed})({parts})", Precedence.UNARY)
        if wraps and dtype is UINT16 and type(expr) is Mul:
            left = f"(uint32_t){self.code(expr.a, Precedence.UNARY)}"
        text = Text(f"{left} {operator} {right}", precedence)
        return text if expr.dtype.is_bool else self.round(dtype, text)

    def _is_index(self, expr: Expr) -> bool:
        """Whether the value provably fits into its type, as all index arithmetic does."""
        low, high = self.analyzer.const_int_bound(expr)
        return low >= expr.dtype.min_int and high <= expr.dtype.max_int

    def floor_division(self, expr: FloorDiv | FloorMod) -> Text:
        dtype = expr.dtype
        name = "floordiv" if isinstance(expr, FloorDiv) else "floormod"
        if dtype.is_float:
            return self._float_floor_division(expr)
        prove = self.analyzer.can_prove_greater_equal
        if dtype.is_uint or (prove(expr.a, 0) and prove(expr.b, 0)):
            operator = "/" if name == "floordiv" else "%"
            left = self.code(expr.a, Precedence.PRODUCT)
            right = self.code(expr.b, Precedence.PRODUCT + 1)
            return Text(f"{left} {operator} {right}", Precedence.PRODUCT)
        kind = suffix(dtype)
        self.helper(f"floordiv_{kind}", prelude.floor_division(kind, value_type(dtype)))
        return Text(f"tw_{name}_{kind}({self.code(expr.a)}, {self.code(expr.b)})")

    def _float_floor_division(self, expr: FloorDiv | FloorMod) -> Text:
        end = "" if expr.dtype.bits == 64 else "f"
        a, b = self.temporary(expr.a), self.temporary(expr.b)
        quotient = f"floor{end}({a} / {b})"
        if isinstance(expr, FloorDiv):
            return self.round(expr.dtype, Text(quotient))
        return self.round(expr.dtype, Text(f"{a} - {b} * {quotient}", Precedence.SUM))

    def extreme(self, expr: Min | Max) -> Text:
        name = "min" if isinstance(expr, Min) else "max"
        if expr.dtype.is_float:
            kind = "f64" if expr.dtype.bits == 64 else "f32"
            c_type = "double" if kind == "f64" else "float"
            self.helper(f"extremes_{kind}", prelude.float_extremes(kind, c_type))
            return Text(f"tw_{name}_{kind}({self.code(expr.a)}, {self.code(expr.b)})")
        operator = "<" if name == "min" else ">"
        a, b = self.temporary(expr.a), self.temporary(expr.b)
        return Text(f"{a} {operator} {b} ? {a} : {b}", Precedence.CONDITIONAL)

    def logical(self, expr: And | Or) -> Text:
        is_and = isinstance(expr, And)
        operator, precedence = ("&&", Precedence.AND) if is_and else ("||", Precedence.OR)
        # `a && b || c` is clear to C and not to people: other operators get parentheses.
        chained = isinstance(expr.a, type(expr))
        left = self.code(expr.a, precedence if chained else Precedence.BIT_OR)
        branch, right = self._branch(expr.b)
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
        return Text(f"!{self.code(expr.a, Precedence.UNARY)}", Precedence.UNARY)

    def select(self, expr: Select) -> Text:
        return self.conditional(expr.condition, expr.true_value, expr.false_value, expr.dtype)

    def conditional(self, condition: Expr, yes: Expr, no: Expr, dtype: DType) -> Text:
        """`condition ? yes : no`; as an `if` where one of the sides needs statements."""
        test = self.text(condition)
        yes_lines, yes_text = self._branch(yes)
        no_lines, no_text = self._branch(no)
        if not yes_lines and not no_lines:
            parts = [
                f"({t.code})" if t.precedence <= Precedence.CONDITIONAL else t.code
                for t in (test, yes_text, no_text)
            ]
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

    def _branch(self, expr: Expr) -> tuple[list[str], Text]:
        """The statements that `expr` needs, one level deeper, and its text."""
        outer, self.lines = self.lines, []
        self.depth += 1
        text = self.text(expr)
        self.depth -= 1
        lines, self.lines = self.lines, outer
        return lines, text

    def temporary(self, expr: Expr) -> str:
        """An identifier or constant with the value of `expr`."""
        text = self.text(expr)
        if isinstance(expr, (Var, IntImm, FloatImm)):
            return text.code if text.precedence == Precedence.PRIMARY else f"({text.code})"
        name = self.names.fresh("t")
        self.line(f"const {value_type(expr.dtype)} {name} = {text.code};")
        return name

    def let(self, expr: Let) -> Text:
        value = self.code(expr.value)
        self.line(f"const {value_type(expr.var.dtype)} {self.names.define(expr.var)} = {value};")
        return self.text(expr.body)

    def cast(self, expr: Cast) -> Text:
        value = self.code(expr.value, Precedence.UNARY)
        if expr.dtype.is_bool:
            return Text(f"{self.code(expr.value, Precedence.EQUALITY)} != 0", Precedence.EQUALITY)
        if expr.dtype in HALVES:
            return self.round(expr.dtype, Text(f"(float){value}", Precedence.UNARY))
        return Text(f"({value_type(expr.dtype)}){value}", Precedence.UNARY)

    # --- memory -----------------------------------------------------------------------------

    def element(self, access: Any) -> str:
        """The C lvalue of a one-dimensional load or store."""
        if len(access.indices) != 1:
            raise CodegenError(f"target c: `{access!r}` is not one-dimensional")
        index = self.code(access.indices[0])
        pointer = self.variable(access.buffer.data).code
        annotation = access.buffer.data.type_annotation
        element = getattr(getattr(annotation, "element_type", None), "dtype", None)
        if element is not access.buffer.dtype:
            pointer = f"(({memory_type(access.buffer.dtype)}*){pointer})"
        return f"{pointer}[{index}]"

    def load(self, load: BufferLoad) -> Text:
        if load.predicate is not None:
            raise CodegenError(f"target c cannot express the masked load `{load!r}`")
        element = self.element(load)
        if load.dtype in HALVES:
            name = HALVES[load.dtype]
            self.helper(name, prelude.HALF if name == "f16" else prelude.BFLOAT)
            return Text(f"tw_load_{name}({element})")
        return Text(element)

    # --- calls ------------------------------------------------------------------------------

    def _library(self, name: str, dtype: DType, args: tuple[Expr, ...]) -> str:
        """A call of a function of math.h, in the precision of `dtype`."""
        end = "" if dtype.bits == 64 else "f"
        return f"{name}{end}({', '.join(self.code(arg) for arg in args)})"

    def call(self, call: Call) -> Text:
        raise NotImplementedError  # pragma: no cover, given by calls.CallEmitter


def c_string(value: str) -> str:
    """A C string literal."""
    out = []
    for byte in value.encode():
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")
    return f'"{"".join(out)}"'
