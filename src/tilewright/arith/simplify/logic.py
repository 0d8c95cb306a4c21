"""Conjunction, disjunction and negation.

Scalar `And` and `Or` short-circuit: the right operand is evaluated only where the left one leaves
the question open, so it is simplified under what the left one says.
"""

from __future__ import annotations

from typing import Any

from tilewright.arith.simplify.rules import Rule, RuleTable
from tilewright.arith.simplify.scope import assuming
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Broadcast,
    Expr,
    IntImm,
    Not,
    Or,
)

RULES = [
    Rule("x and x", "x"),
    Rule("x or x", "x"),
    Rule("(x and y) and x", "x and y"),
    Rule("(x and y) and y", "x and y"),
    Rule("(x or y) or x", "x or y"),
    Rule("(x or y) or y", "x or y"),
    Rule("x and (x or y)", "x"),
    Rule("x or (x and y)", "x"),
    Rule("x and not x", "False"),
    Rule("x or not x", "True"),
    Rule("x < c1 and x < c2", "x < (c1 if c1 < c2 else c2)"),
    Rule("x <= c1 and x <= c2", "x <= (c1 if c1 < c2 else c2)"),
    Rule("x < c1 or x < c2", "x < (c1 if c1 > c2 else c2)"),
    Rule("x <= c1 or x <= c2", "x <= (c1 if c1 > c2 else c2)"),
]
_TABLE = RuleTable(RULES)
_OPPOSITE = {LT: GE, GE: LT, GT: LE, LE: GT, EQ: NE, NE: EQ}


def simplify_and(s: Simplifier, expr: Any) -> Expr:
    """An `And` node."""
    return _both(s, And, expr)


def simplify_or(s: Simplifier, expr: Any) -> Expr:
    """An `Or` node."""
    return _both(s, Or, expr)


def _both(s: Simplifier, kind: type[Any], expr: Any) -> Expr:
    a = s(expr.a)
    if expr.dtype.lanes != 1:
        return combine(s, kind, a, s(expr.b))
    if a.__class__ is IntImm and bool(a.value) == (kind is Or):  # type: ignore[attr-defined]
        return a
    with assuming(s, a if kind is And else negation(s, a)):
        b = s(expr.b)
    return combine(s, kind, a, b)


def combine(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """``a and b`` or ``a or b`` of simplified operands."""
    if a.dtype.lanes != 1:
        return simplify_vector(s, kind, a, b)
    decisive = kind is Or
    if a.__class__ is IntImm:
        return a if bool(a.value) == decisive else b  # type: ignore[attr-defined]
    if b.__class__ is IntImm:
        if bool(b.value) != decisive:  # type: ignore[attr-defined]
            return a
        if s.total(a):
            return b
    found = _TABLE.apply(s, kind, a, b)
    return s.make(kind, a, b) if found is None else found


def negation(s: Simplifier, a: Expr) -> Expr:
    """``not a`` of a simplified operand."""
    if a.__class__ is IntImm:
        return s.constant(1 - a.value, BOOL)  # type: ignore[attr-defined]
    if a.__class__ is Not:
        return a.a  # type: ignore[attr-defined]
    if a.__class__ is Broadcast:
        return s.intern(Broadcast(negation(s, a.value), a.lanes))  # type: ignore[attr-defined]
    opposite = _OPPOSITE.get(a.__class__)
    if opposite is not None and (a.a.dtype.is_integral or a.__class__ in (EQ, NE)):  # type: ignore[attr-defined]
        return s.make(opposite, a.a, a.b)  # type: ignore[attr-defined]
    return s.intern(Not(a))


Simplifier.handlers[And] = simplify_and
Simplifier.handlers[Or] = simplify_or
Simplifier.handlers[Not] = lambda s, expr: negation(s, s(expr.a))
Simplifier.constructors[Not] = negation
Simplifier.constructors[And] = lambda s, a, b: combine(s, And, a, b)
Simplifier.constructors[Or] = lambda s, a, b: combine(s, Or, a, b)
