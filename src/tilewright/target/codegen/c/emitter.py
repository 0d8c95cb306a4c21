"""The state of writing a function in C, and the table of what writes its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var
from tilewright.target.codegen import EmitterTable
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.types import HALVES, Names, memory_type, value_type
from tilewright.tir.stmt import Stmt


class Precedence:
    """Precedence of C's operators."""

    CONDITIONAL, OR, AND, BIT_OR, BIT_XOR, BIT_AND = 3, 4, 5, 6, 7, 8
    EQUALITY, RELATION, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = 9, 10, 11, 12, 13, 15, 16


class Text(NamedTuple):
    """A C expression and the precedence of its outermost operator."""

    code: str
    precedence: int = Precedence.PRIMARY

    def at(self, precedence: int) -> str:
        """The code, in parentheses if its precedence is lower than `precedence`."""
        return f"({self.code})" if self.precedence < precedence else self.code


INDENT: Final = "  "

emits: Final = EmitterTable()
"""Registers functions that take a `FunctionEmitter` and a node.

Those of expressions return a `Text`, and put statements that it needs in front of it; those of
statements add lines.
"""


class FunctionEmitter:
    """Writes one function: its lines, and the helpers and variables that it uses.

    Attributes:
        table: what writes nodes.
        target: the name of the kind of target, for messages.
        has_vectors: whether the language has vectors.
        unrolls: whether it has a pragma that unrolls loops.
        helpers: source of the helper functions of the module, by name.
        names: identifiers of the variables.
        analyzer: facts about the variables.
        lines: the lines so far.
        used: identifiers that the code mentions.
        read: identifiers of buffers that the code reads, or passes on.
        index_sums: sums and products in indices, which do not overflow.
        heap: identifiers of the blocks of memory to free, outermost first.
    """

    table: ClassVar[EmitterTable] = emits
    target: str = "c"
    has_vectors: ClassVar[bool] = False
    unrolls: ClassVar[bool] = False

    def __init__(self, helpers: dict[str, str]) -> None:
        self.helpers = helpers
        self.names = Names()
        self.analyzer = Analyzer()
        self.lines: list[str] = []
        self.depth = 1
        self.used: set[str] = set()
        self.read: set[str] = set()
        self.index_sums: set[Expr] = set()
        self.heap: list[str] = []

    # --- statements -------------------------------------------------------------------------

    def statement(self, stmt: Stmt) -> None:
        """Write `stmt`."""
        emit = self.table.nodes.get(stmt.__class__)
        if emit is None:
            raise CodegenError(
                f"target {self.target} cannot express a {type(stmt).__name__}; lower it first"
            )
        emit(self, stmt)

    def block(self, stmt: Stmt) -> None:
        """Write `stmt` one level deeper."""
        self.depth += 1
        self.statement(stmt)
        self.depth -= 1

    def leave(self, value: str) -> None:
        """Leave the function with `value`; nothing if it is empty."""
        result = self.names.unique("result") if self.heap and value else ""
        if result:
            self.line(f"const int32_t {result} = {value};")
        for name in reversed(self.heap):
            self.line(f"free({name});")
        self.line(f"return {result or value};" if value else "return;")

    def leave_with_error(self, kind: str, message: str, values: Sequence[str] = ()) -> None:
        """Leave the function with an error.

        `kind` is the name of its class, `message` a printf format of `values`.
        """
        self.helper("raise", prelude.RAISE)
        arguments = ", ".join([c_string(kind), c_string(message), *values])
        self.leave(f"tw_raise({arguments})")

    def line(self, code: str) -> None:
        """Add a line of code at the present indentation."""
        self.lines.append(INDENT * self.depth + code)

    def helper(self, name: str, code: str) -> None:
        """Make sure that the source contains the helper functions `code`."""
        self.helpers.setdefault(name, code)

    # --- expressions ------------------------------------------------------------------------

    def text(self, expr: Expr) -> Text:
        """`expr` in C."""
        emit = self.table.nodes.get(expr.__class__)
        if emit is None or (expr.dtype.lanes != 1 and not self.has_vectors):
            raise CodegenError(
                f"target {self.target} cannot express `{expr!r}` of dtype {expr.dtype!s}"
            )
        return emit(self, expr)

    def code(self, expr: Expr, precedence: int = 0) -> str:
        """`expr` in C, in parentheses if its precedence is lower than `precedence`."""
        return self.text(expr).at(precedence)

    def arguments(self, values: tuple[Expr, ...]) -> str:
        """The arguments of a C function."""
        return ", ".join(self.code(value) for value in values)

    def branch_of(self, expr: Expr) -> tuple[list[str], Text]:
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
            return text.at(Precedence.PRIMARY)
        name = self.names.unique("t")
        self.line(f"const {self.value_type(expr.dtype)} {name} = {text.code};")
        return name

    def name_of(self, var: Var) -> str:
        """The identifier of a variable in scope."""
        if var not in self.names:
            raise CodegenError(f"variable {var.name} is used outside of its scope")
        name = self.names[var]
        self.used.add(name)
        return name

    def round(self, dtype: DType, text: Text) -> Text:
        """A result computed in float, rounded to a half type; integers cut to their width."""
        if dtype in HALVES:
            self.half_helper(dtype)
            return Text(f"tw_round_{HALVES[dtype]}({text.code})")
        if dtype.is_integral and dtype.bits < 32 and not dtype.is_bool:
            return Text(f"({value_type(dtype)}){text.at(Precedence.UNARY)}", Precedence.UNARY)
        return text

    def library(self, name: str, dtype: DType, args: Sequence[Expr]) -> str:
        """A call of a function of math.h, in the precision of `dtype`."""
        end = "" if dtype.bits == 64 else "f"
        return f"{name}{end}({', '.join(self.code(arg) for arg in args)})"

    def pointer_type(self, pointer: Var, element: DType) -> str:
        """The type of a pointer to elements of some type."""
        del pointer
        return f"{memory_type(element)}*"

    def value_type(self, dtype: DType) -> str:
        """The type of variables of type `dtype`."""
        return value_type(dtype)

    def loaded(self, dtype: DType, element: str) -> str:
        """The value of an element in memory."""
        return f"tw_load_{self.half_helper(dtype)}({element})" if dtype in HALVES else element

    def stored(self, dtype: DType, value: str) -> str:
        """A value as an element in memory."""
        return f"tw_store_{self.half_helper(dtype)}({value})" if dtype in HALVES else value

    def half_helper(self, dtype: DType) -> str:
        """The name of a half type in helper functions, which the source then contains."""
        name = HALVES[dtype]
        self.helper(name, prelude.HALF if name == "f16" else prelude.BFLOAT)
        return name


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
