"""Choices: `Select`, which evaluates both sides, and `if_then_else`, which evaluates one."""

from __future__ import annotations

from typing import Any

from tilewright.arith.simplify.logic import negation
from tilewright.arith.simplify.rules import Rule, RuleTable
from tilewright.arith.simplify.scope import assuming
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir.expr import Broadcast, Call, Expr, IntImm, Not, Select

RULES = [
    Rule("x if p else x", "x"),
    Rule("(x if p else y) if p else z", "x if p else z"),
    Rule("x if p else (y if p else z)", "x if p else z"),
]
_TABLE = RuleTable(RULES)


def simplify_select(s: Simplifier, expr: Any) -> Expr:
    """A `Select` node."""
    return selection(s, s(expr.condition), s(expr.true_value), s(expr.false_value))


def selection(s: Simplifier, condition: Expr, a: Expr, b: Expr) -> Expr:
    """``Select(condition, a, b)`` of simplified parts."""
    lanes = a.dtype.lanes
    if condition.__class__ is Broadcast:
        condition = condition.value  # type: ignore[attr-defined]
        if condition.__class__ is not IntImm:
            condition = s.intern(Broadcast(condition, lanes))
    if condition.__class__ is IntImm:
        chosen, other = (a, b) if condition.value else (b, a)  # type: ignore[attr-defined]
        if s.total(other):
            return chosen
        if lanes != 1:
            condition = s.intern(Broadcast(condition, lanes))
    if condition.__class__ is Not:
        return selection(s, condition.a, b, a)  # type: ignore[attr-defined]
    found = _TABLE.apply(s, Select, condition, a, b)
    return s.intern(Select(condition, a, b)) if found is None else found


def simplify_call(s: Simplifier, expr: Any) -> Expr:
    """A `Call` node; only `if_then_else` has rules."""
    if getattr(expr.op, "name", None) != "tir.if_then_else":
        return s.intern(expr.map_children(s.child))
    condition = s(expr.args[0])
    if condition.__class__ is IntImm:
        return s(expr.args[1] if condition.value else expr.args[2])  # type: ignore[attr-defined]
    with assuming(s, condition):
        a = s(expr.args[1])
    with assuming(s, negation(s, condition)):
        b = s(expr.args[2])
    if a is b and s.total(condition):
        return a
    arguments = (condition, a, b)
    if all(new is old for new, old in zip(arguments, expr.args, strict=True)):
        return s.intern(expr)
    return s.intern(Call(expr.dtype, expr.op, arguments))


Simplifier.handlers[Select] = simplify_select
Simplifier.constructors[Select] = selection
Simplifier.handlers[Call] = simplify_call
