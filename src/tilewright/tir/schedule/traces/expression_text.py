"""Integer arithmetic and conditions as text, and back without executing anything."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

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
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
    Var,
)
from tilewright.tir.op import truncdiv, truncmod

_INFIX: Final = {Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%"} | {
    EQ: "==",
    NE: "!=",
    LT: "<",
    LE: "<=",
    GT: ">",
    GE: ">=",
}
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
    infix, prefix = _INFIX.get(type(expr)), _PREFIX.get(type(expr))
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
