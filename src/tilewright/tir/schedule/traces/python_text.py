"""A trace as Python text."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tilewright.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.symbols import BlockRV, LoopRV
from tilewright.tir.schedule.traces.instruction import Instruction

if TYPE_CHECKING:
    from tilewright.tir.schedule.traces.trace import Trace
import ast
import operator
from collections.abc import Callable

from tilewright.error import ArgumentValueError, TVMError
from tilewright.ir.arithmetic import (
    equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
)
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import (
    Add,
    And,
    Cast,
    CompareExpr,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
)
from tilewright.tir.op import truncdiv, truncmod

_INFIX: Final = (Add, Sub, Mul, FloorDiv, FloorMod, CompareExpr)
_PREFIX: Final = {
    Max: "tir.max",
    Min: "tir.min",
    Div: "tir.truncdiv",
    Mod: "tir.truncmod",
    And: "tir.And",
    Or: "tir.Or",
    Not: "tir.Not",
}


def format_expression(expr: Expr, names: Mapping[Any, str]) -> str:
    """`expr` as text, in parentheses wherever there are operators.

    Args:
        expr: sums, products, quotients, remainders, minima and maxima of variables and numbers;
            comparisons of these.
        names: the names of the variables.
    """
    if isinstance(expr, Var):
        return names.get(expr, expr.name)
    if isinstance(expr, IntImm):
        return str(expr.value)
    if isinstance(expr, Cast):
        return format_expression(expr.value, names)
    infix = expr.symbol if isinstance(expr, _INFIX) else None
    prefix = _PREFIX.get(type(expr))
    if infix is None and prefix is None:
        raise ArgumentValueError(f"the expression {expr!r} of a trace has no form as text")
    operands = [format_expression(child, names) for child in expr.children()]  # type: ignore[arg-type]
    return f"({f' {infix} '.join(operands)})" if infix else f"{prefix}({', '.join(operands)})"


_OPERATORS: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Eq: equal,
    ast.NotEq: not_equal,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "max": maximum,
    "min": minimum,
    "truncdiv": truncdiv,
    "truncmod": truncmod,
    "And": logical_and,
    "Or": logical_or,
    "Not": logical_not,
}


def parse_expression(text: str, values: Mapping[str, Any]) -> Any:
    """What `format_expression` wrote; names are looked up in `values`."""
    try:
        tree = ast.parse(text, mode="eval")
        return _evaluate(tree.body, values, text)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as e:
        if isinstance(e, TVMError):
            raise
        raise ArgumentValueError(f"{text!r} is not an expression over numbers") from None


def _evaluate(node: ast.expr, values: Mapping[str, Any], text: str) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, values, text)
    if isinstance(node, ast.Name) and node.id in values:
        return values[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        a, b = (_evaluate(side, values, text) for side in (node.left, node.right))
        return _OPERATORS[type(node.op)](a, b)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS and len(node.ops) == 1:
        sides = (_evaluate(side, values, text) for side in (node.left, node.comparators[0]))
        return _COMPARISONS[type(node.ops[0])](*map(as_expr, sides))
    if isinstance(node, ast.Call) and not node.keywords:
        function = _FUNCTIONS.get(ast.unparse(node.func).removeprefix("tir."))
        if function is not None:
            return function(*(as_expr(_evaluate(side, values, text)) for side in node.args))
    raise ArgumentValueError(f"{text!r}: {ast.unparse(node)!r} is not understood here")


def as_python(
    trace: Trace,
    remove_postproc: bool,
    given: Mapping[Any, str] = MappingProxyType({}),
    schedule: str = "sch",
) -> list[str]:
    """A line per instruction; variables are numbered in the order of their definition.

    Args:
        trace: the trace.
        remove_postproc: leave out what follows `enter_postproc`.
        given: the names of variables that are defined before.
        schedule: the name of the schedule.
    """
    writer = _Writer(given, schedule)
    texts = (writer.text(i, trace.get_decision(i)) for i in trace.kept(remove_postproc))
    return [line for text in texts for line in text.split("\n")]


class _Writer:
    """Writes instructions."""

    def __init__(self, given: Mapping[Any, str], schedule: str) -> None:
        self._names = dict(given)
        self._schedule = schedule

    def text(self, inst: Instruction, decision: Any) -> str:
        """An instruction as a statement."""
        call = inst.kind.primitive.as_python(inst.arguments, self._names, self._value)
        if call is None:
            call = f"{self._callee(inst)}({', '.join(self._arguments(inst, decision))})"
        for output in inst.outputs:
            self._names[output] = variable_name(output, self._names)
        if not inst.outputs:
            return call
        targets = ", ".join(self._names[output] for output in inst.outputs)
        # A list of one is unpacked too.
        return f"{targets}{',' if inst.returns_list and len(inst.outputs) == 1 else ''} = {call}"

    def _value(self, value: Any) -> str:
        return value_text(value, self._names)

    def _callee(self, inst: Instruction) -> str:
        """The method that is called, and of what."""
        primitive = inst.kind.primitive
        receivers = (
            self._value(inst.arguments[parameter.name])
            for parameter in primitive.parameters
            if parameter.kind == "receiver"
        )
        return primitive.callee.format(*receivers, sch=self._schedule)

    def _arguments(self, inst: Instruction, decision: Any) -> list[str]:
        texts: list[str] = []
        for parameter in inst.kind.primitive.parameters:
            value = inst.arguments.get(parameter.name)
            if parameter.name == "decision":
                value = decision
            elif parameter.name not in inst.arguments:
                continue
            if parameter.variadic:
                texts += map(self._value, value or ())
            elif parameter.kind == "stage":
                texts.append(f"{parameter.name}={self._schedule}[{self._value(value)}]")
            elif parameter.kind != "receiver" and not (value is None and parameter.default is None):
                texts.append(f"{parameter.name}={self._value(value)}")
        return texts


def variable_name(output: Any, names: Mapping[Any, str]) -> str:
    """The name of the random variable that is defined next.

    Args:
        output: the random variable. If it says what it may be called, it is called so, with a
            number if another one is.
        names: of those that are defined already.
    """
    letter = "b" if isinstance(output, BlockRV) else "l" if isinstance(output, LoopRV) else "v"
    hint = getattr(output, "hint", None)
    if hint is None:
        return f"{letter}{len(names)}"
    plain = re.sub(r"\W", "_", hint, flags=re.ASCII) or letter
    name = plain if plain.isidentifier() else f"{letter}_{plain}"
    taken = {*names.values(), *_RESERVED}
    numbered = (f"{name}_{number}" for number in itertools.count(1))
    return next(n for n in (name, *itertools.islice(numbered, len(taken))) if n not in taken)


_RESERVED: Final = frozenset({"s", "sch", "te", "tir", *keyword.kwlist})


def value_text(value: Any, names: Mapping[Any, str]) -> str:
    """An argument as Python text.

    Args:
        value: a random variable, number, string, list, dictionary or expression.
        names: the names of the random variables.
    """
    if isinstance(value, (BlockRV, LoopRV, Var)):
        return names.get(value, "_")
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(item, names) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{value_text(k, names)}: {value_text(v, names)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value_text(value.value, names)
    if isinstance(value, Expr):
        return format_expression(value, names)
    if isinstance(value, IndexMap):
        return _index_map_text(value, names)
    return repr(value)


def _index_map_text(index_map: IndexMap, names: Mapping[Any, str]) -> str:
    own = names_of_indices(index_map, names)
    outputs = [format_expression(index, {**names, **own}) for index in index_map.final_indices]
    comma = "," if len(outputs) == 1 else ""
    return f"lambda {', '.join(own.values())}: ({', '.join(outputs)}{comma})"


def names_of_indices(index_map: IndexMap, names: Mapping[Any, str]) -> dict[Var, str]:
    """The names of the indices of a map: their own, unless random variables are called so."""
    taken = {names.get(var) for var in index_map.free_variables()}
    indices = index_map.initial_indices
    own = [var.name for var in indices]
    if len(set(own)) < len(own) or not taken.isdisjoint(own) or not all(map(str.isidentifier, own)):
        own = [f"i{n}" for n in range(len(own))]
    return dict(zip(indices, own, strict=True))
