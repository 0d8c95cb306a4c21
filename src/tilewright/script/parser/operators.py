"""Evaluates operators: on numbers as Python does, on expressions by building expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

from tilewright.error import DTypeError
from tilewright.ir import arithmetic
from tilewright.ir.arithmetic import logical_and, logical_not, logical_or
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.module import GlobalVar
from tilewright.script.constructs.access import PartialAccess
from tilewright.script.parser.evaluator import Evaluator, evaluates
from tilewright.script.parser.source import kind_of
from tilewright.tir.buffer import Buffer, BufferRegion
from tilewright.tir.expr import IterVar
from tilewright.tir.op import if_then_else

_MOST_BITS: Final = 4096
_LONGEST: Final = 1_000_000

_BINARY: Final[dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}
COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.In: ("in", lambda a, b: a in b),
    ast.NotIn: ("not in", lambda a, b: a not in b),
}
_SYMBOLIC_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": arithmetic.equal,
    "!=": arithmetic.not_equal,
    "<": arithmetic.less,
    "<=": arithmetic.less_equal,
    ">": arithmetic.greater,
    ">=": arithmetic.greater_equal,
}


def operand(value: Any) -> Any:
    """`value` as an operand: slices of buffers become vectors, iterators their variables."""
    if isinstance(value, (BufferRegion, PartialAccess, IterVar)):
        return value.as_expr()
    if isinstance(value, Buffer):
        raise DTypeError(
            f"the buffer {value.name} is not a value: read an element, such as "
            f"{value.name}[{', '.join(['0'] * value.ndim) or '()'}]"
        )
    return value


def is_symbolic(value: Any) -> bool:
    """Whether Python does not know the value."""
    return isinstance(value, Expr) and not isinstance(value, (IntImm, GlobalVar))


def binary(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """The value of a binary operator."""
    symbol, function = _BINARY[kind]
    a, b = operand(left), operand(right)
    _check_size(kind, a, b)
    if isinstance(a, Expr) or isinstance(b, Expr):
        if symbol in ("**", "@"):
            hint = ": write T.pow(x, y)" if symbol == "**" else ""
            raise DTypeError(f"`{symbol}` does not combine expressions{hint}")
        other = b if isinstance(a, Expr) else a
        if isinstance(other, (str, list, tuple, dict, set)) or other is None:
            raise DTypeError(f"`{symbol}` combines numbers, got {kind_of(other)}")
    return function(a, b)


def _check_size(kind: type[ast.operator], a: Any, b: Any) -> None:
    """Refuse to compute astronomically large Python values."""
    too_large = False
    if kind is ast.Pow and isinstance(a, int) and isinstance(b, int):
        too_large = a.bit_length() * max(b, 0) > _MOST_BITS
    elif kind is ast.LShift and isinstance(a, int) and isinstance(b, int):
        too_large = b > _MOST_BITS
    elif kind is ast.Mult:
        for sequence, count in ((a, b), (b, a)):
            if isinstance(sequence, (str, bytes, list, tuple)) and isinstance(count, int):
                too_large = len(sequence) * count > _LONGEST
        if isinstance(a, int) and isinstance(b, int):
            too_large = a.bit_length() + b.bit_length() > _MOST_BITS
    elif kind is ast.Mod and isinstance(a, (str, bytes)):
        raise DTypeError("`%` formats no text in a script: write an f-string")
    if too_large:
        raise DTypeError("the result is too large")


@evaluates(ast.BinOp)
def _binary(evaluator: Evaluator, node: ast.BinOp) -> Any:
    return evaluator.made(binary(type(node.op), evaluator(node.left), evaluator(node.right)))


@evaluates(ast.UnaryOp)
def _unary(evaluator: Evaluator, node: ast.UnaryOp) -> Any:
    value = operand(evaluator(node.operand))
    if isinstance(node.op, ast.Not):
        return logical_not(value) if isinstance(value, Expr) else not value
    if isinstance(node.op, ast.USub):
        return -value
    return ~value if isinstance(node.op, ast.Invert) else +value


@evaluates(ast.BoolOp)
def _bool_operator(evaluator: Evaluator, node: ast.BoolOp) -> Any:
    is_and = isinstance(node.op, ast.And)
    combine = logical_and if is_and else logical_or
    result = operand(evaluator(node.values[0]))
    for item in node.values[1:]:
        if not isinstance(result, Expr):
            # Python decides, and evaluates the rest only if it matters.
            if bool(result) != is_and:
                return result
            result = operand(evaluator(item))
            continue
        value = operand(evaluator(item))
        result = combine(result, value)
    return result


@evaluates(ast.Compare)
def _compare(evaluator: Evaluator, node: ast.Compare) -> Any:
    left = evaluator(node.left)
    result: Any = None
    for kind, item in zip(node.ops, node.comparators, strict=True):
        right = evaluator.made(evaluator(item))
        value = _compare_two(kind, left, right)
        if result is None or not isinstance(result, Expr):
            result = value if result is None or result else result
        elif isinstance(value, Expr) or value:
            result = logical_and(result, value)
        else:
            result = value
        left = right
    return result


def _compare_two(kind: ast.cmpop, left: Any, right: Any) -> Any:
    symbol, function = COMPARISONS[type(kind)]
    if symbol in ("is", "is not"):
        return function(left, right)
    if symbol in ("in", "not in"):
        if is_symbolic(left):
            raise DTypeError(f"`{symbol}` needs a value that is known while the script is read")
        return function(left, right)
    a, b = operand(left), operand(right)
    if isinstance(a, Expr) != isinstance(b, Expr):
        other = b if isinstance(a, Expr) else a
        if not isinstance(other, (int, float)) and not hasattr(other, "as_expr"):
            if symbol in ("==", "!="):
                return symbol == "!="
            raise DTypeError(f"`{symbol}` compares numbers, got {kind_of(other)}")
    if isinstance(b, Expr) and isinstance(a, (int, float)):
        # Python would ask the expression first, which turns `0 < i` into `i > 0`.
        return _SYMBOLIC_COMPARE[symbol](a, b)
    return function(a, b)


@evaluates(ast.IfExp)
def _if_expression(evaluator: Evaluator, node: ast.IfExp) -> Any:
    condition = operand(evaluator(node.test))
    if is_symbolic(condition):
        return if_then_else(
            condition, operand(evaluator(node.body)), operand(evaluator(node.orelse))
        )
    return evaluator(node.body if condition else node.orelse)
