"""Choices: `Select`, `if_then_else`, `min` and `max`."""

from __future__ import annotations

from typing import Any

from tilewright.arith.simplify.compare import difference_bounds, known_at_least
from tilewright.arith.simplify.logic import assuming, negation
from tilewright.arith.simplify.rules import Rule, RuleTable
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.expr import Broadcast, Call, Expr, IntImm, Max, Min, Not, Select
from tilewright.ir.folding import fold_constants

RULES = [
    Rule("x if p else x", "x"),
    Rule("(x if p else y) if p else z", "x if p else z"),
    Rule("x if p else (y if p else z)", "x if p else z"),
    Rule("min(min(x, c1), c2)", "min(x, c1 if c1 < c2 else c2)"),
    Rule("max(max(x, c1), c2)", "max(x, c1 if c1 > c2 else c2)"),
    Rule("min(min(x, y), x)", "min(x, y)"),
    Rule("max(max(x, y), x)", "max(x, y)"),
    Rule("min(max(x, y), x)", "x"),
    Rule("max(min(x, y), x)", "x"),
    Rule("min(max(x, c1), c2)", "c2", "c2 <= c1"),
    Rule("max(min(x, c1), c2)", "c2", "c2 >= c1"),
    Rule("min(max(x, y), max(x, z))", "max(min(y, z), x)"),
    Rule("max(min(x, y), min(x, z))", "min(max(y, z), x)"),
    Rule("min(max(x, y), min(x, y))", "min(x, y)"),
    Rule("max(min(x, y), max(x, y))", "max(x, y)"),
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


def minimum(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``min(a, b)`` of simplified operands."""
    return _choose(s, Min, a, b)


def maximum(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``max(a, b)`` of simplified operands."""
    return _choose(s, Max, a, b)


def _choose(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    dtype = a.dtype
    if a is b and s.total(a):
        return a
    if not dtype.is_integral or dtype.lanes != 1:
        return simplify_vector(s, kind, a, b)
    folded = fold_constants(kind, a, b)
    if folded is not None:
        return s(folded)
    low, high = difference_bounds(s, a, b)
    if (high <= 0 or known_at_least(s, b, a)) and s.total(b if kind is Min else a):
        return a if kind is Min else b
    if (low >= 0 or known_at_least(s, a, b)) and s.total(a if kind is Min else b):
        return b if kind is Min else a
    found = _TABLE.apply(s, kind, a, b)
    return s.make(kind, a, b) if found is None else found


Simplifier.handlers[Min] = lambda s, expr: minimum(s, s(expr.a), s(expr.b))
Simplifier.handlers[Max] = lambda s, expr: maximum(s, s(expr.a), s(expr.b))
Simplifier.constructors[Min] = minimum
Simplifier.constructors[Max] = maximum
