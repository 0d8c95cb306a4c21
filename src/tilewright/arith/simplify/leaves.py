"""Constants, variables, truncating division, and what has no rules of its own."""

from __future__ import annotations

from typing import Any

from tilewright.arith.bounds import DATA, bounds_of, effects_of
from tilewright.arith.linear import variables_of
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.expr import (
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    SizeVar,
    Var,
)
from tilewright.ir.folding import fold_constants


def simplify_let(s: Simplifier, expr: Any) -> Expr:
    """A `Let` node: a constant or a variable takes the place of the bound variable."""
    value = s(expr.value)
    outer = s.facts
    s.facts = inner = outer.inner()
    replaced = value.__class__ in (IntImm, FloatImm, Var, SizeVar)
    if replaced:
        inner.values[expr.var] = value
    elif value.dtype.is_integral:
        inner.ranges[expr.var] = bounds_of(outer, value)
    if effects_of(outer, value) & DATA:
        inner.data.add(expr.var)
    try:
        body = s(expr.body)
    finally:
        s.facts = outer
    if replaced:
        return body
    if s.total(value) and expr.var not in variables_of(body):
        return body
    return s.intern(expr.replace(value=value, body=body))


_FLOORED = {Div: FloorDiv, Mod: FloorMod}


def simplify_variable(s: Simplifier, var: Any) -> Expr:
    """A variable: what it stands for, if that is known."""
    value = s.facts.values.get(var)
    return var if value is None else s(value)


def truncated(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """Truncating division: the same as rounding down where neither operand is negative."""
    folded = fold_constants(kind, a, b)
    if folded is not None:
        return s.intern(folded)
    if a.dtype.is_float:
        if kind is Div and b.__class__ is FloatImm and b.value == 1.0:  # type: ignore[attr-defined]
            return a
        return simplify_vector(s, kind, a, b)
    if a.dtype.lanes != 1 or not a.dtype.is_integral:
        return simplify_vector(s, kind, a, b)
    if s.lower(a) >= 0 and s.lower(b) > 0:
        return s.construct(_FLOORED[kind], a, b)
    if b.__class__ is IntImm and b.value == 1:  # type: ignore[attr-defined]
        if kind is Div:
            return a
        if s.total(a):
            return s.constant(0, a.dtype)
    return s.make(kind, a, b)


Simplifier.handlers[IntImm] = lambda s, expr: s.intern(expr)
Simplifier.handlers[FloatImm] = lambda s, expr: s.intern(expr)
Simplifier.handlers[Var] = simplify_variable
Simplifier.handlers[SizeVar] = simplify_variable
Simplifier.handlers[Let] = simplify_let
Simplifier.handlers[Div] = lambda s, expr: truncated(s, Div, s(expr.a), s(expr.b))
Simplifier.handlers[Mod] = lambda s, expr: truncated(s, Mod, s(expr.a), s(expr.b))
Simplifier.constructors[Div] = lambda s, a, b: truncated(s, Div, a, b)
Simplifier.constructors[Mod] = lambda s, a, b: truncated(s, Mod, a, b)
