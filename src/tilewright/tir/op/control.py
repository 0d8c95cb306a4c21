"""Operators that choose, assume, leave the function, or fail."""

from __future__ import annotations

from typing import TypeGuard

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.arithmetic import logical_and, logical_or, match_operands
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import BOOL, INT32, VOID
from tilewright.ir.expr import Call, Expr, IntImm, StringImm
from tilewright.ir.op import CallEffectKind, Op, register_op

__all__ = ["all", "any", "assume", "if_then_else", "likely", "raise_error", "ret", "undef"]

register_op("tir.if_then_else", arity=3, vectorizable=False)
register_op("tir.likely", CallEffectKind.EXPR_ANNOTATION, arity=1)
register_op("tir.assume", CallEffectKind.OPAQUE, arity=1, vectorizable=False)
register_op("tir.undef", CallEffectKind.READ_STATE, arity=0, vectorizable=False)
register_op("tir.ret", CallEffectKind.CONTROL_JUMP, vectorizable=False)
register_op("tir.raise_error", CallEffectKind.CONTROL_JUMP, vectorizable=False)

ERROR_KINDS = frozenset(
    ("RuntimeError", "ValueError", "TypeError", "IndexError", "KeyError", "AssertionError",
     "MemoryError", "OverflowError", "InternalError")
)  # fmt: skip
"""The classes of errors that `raise_error` can raise; Python has all but the last built in."""


def condition(value: object, name: str) -> Expr:
    """`value` as a bool expression, for the function `name`."""
    operand = as_expr(value)
    if not operand.dtype.is_bool:
        raise DTypeError(
            f"`{name}` needs a bool condition, got {operand!r} of dtype {operand.dtype!s}: "
            "compare it with something"
        )
    return operand


def if_then_else(cond: object, t: object, f: object) -> Expr:
    """`t` if the scalar bool `cond` holds, else `f`; only the chosen one is evaluated."""
    chosen = condition(cond, "if_then_else")
    if chosen.dtype.is_vector:
        raise DTypeError(f"`if_then_else` needs a scalar condition, got {chosen!r}: use Select")
    a, b = match_operands(t, f, "if_then_else")
    if isinstance(chosen, IntImm):
        return a if chosen.value else b
    return Call(a.dtype, Op.get("tir.if_then_else"), (chosen, a, b))


def is_if_then_else(expr: object) -> TypeGuard[Call]:
    """Whether `expr` is what `if_then_else` makes."""
    return isinstance(expr, Call) and expr.op is Op.get("tir.if_then_else")


def likely(cond: object) -> Expr:
    """The bool `cond`, with the hint that it almost always holds."""
    operand = condition(cond, "likely")
    if isinstance(operand, IntImm):
        return operand
    return Call(operand.dtype, Op.get("tir.likely"), (operand,))


def assume(cond: object) -> Expr:
    """A promise that the scalar bool `cond` holds here, as an expression to evaluate."""
    return Call(BOOL, Op.get("tir.assume"), (condition(cond, "assume"),))


def undef() -> Expr:
    """A value that may be anything, as the initial content of memory."""
    return Call(INT32, Op.get("tir.undef"), ())


def ret(val: object = None) -> Expr:
    """Leave the function, with the scalar `val` as its result if there is one."""
    if val is None:
        return Call(VOID, Op.get("tir.ret"), ())
    value = as_expr(val)
    return Call(value.dtype, Op.get("tir.ret"), (value,))


def raise_error(kind: str, message: str, *values: object) -> Expr:
    """Leave the function with an error, as an expression to evaluate.

    Args:
        kind: the class of the error, one of `ERROR_KINDS`.
        message: a format of C's printf: ``%lld`` stands for an integer, ``%g`` for a float and
            ``%s`` for a string.
        values: what the conversions of `message` print; integers are passed as int64, floats as
            float64.
    """
    if kind not in ERROR_KINDS:
        raise ArgumentError(f"raise_error: no error kind {kind!r}; one of {sorted(ERROR_KINDS)}")
    arguments = (StringImm(kind), StringImm(message), *map(as_expr, values))
    return Call(VOID, Op.get("tir.raise_error"), arguments)


def all(*args: object) -> Expr:
    """Whether all conditions hold; evaluation stops at the first that does not."""
    return _fold("all", args)


def any(*args: object) -> Expr:
    """Whether one of the conditions holds; evaluation stops at the first that does."""
    return _fold("any", args)


def _fold(name: str, args: tuple[object, ...]) -> Expr:
    items = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    if not items:
        raise ArgumentError(f"`{name}` needs at least one condition")
    combine = logical_and if name == "all" else logical_or
    result = condition(items[0], name)
    for item in items[1:]:
        result = combine(result, condition(item, name))
    return result
