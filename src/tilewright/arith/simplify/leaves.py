"""Variables, bindings, casts, and division that rounds towards zero."""

from __future__ import annotations

from typing import Any

from tilewright.arith.bounds import DATA, bounds_of, effects_of
from tilewright.arith.linear import variables_of
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import ramp, simplify_vector
from tilewright.ir.convert import fold_cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Broadcast,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Mod,
    Ramp,
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


def simplify_cast(s: Simplifier, expr: Any) -> Expr:
    """A `Cast` node."""
    return convert(s, expr.dtype, s(expr.value))


def convert(s: Simplifier, dtype: DType, value: Any) -> Expr:
    """``Cast(dtype, value)`` of a simplified value."""
    source = value.dtype
    if source is dtype:
        return value
    if value.__class__ is IntImm or value.__class__ is FloatImm:
        if dtype.is_handle:
            return s.intern(Cast(dtype, value))
        return s.intern(fold_cast(value.value, dtype, Cast(dtype, value)))
    if value.__class__ is Broadcast:
        return s.intern(Broadcast(convert(s, dtype.element, value.value), value.lanes))
    if value.__class__ is Cast and keeps_integers(value.value.dtype, source):
        return convert(s, dtype, value.value)
    if value.__class__ is Ramp and keeps_integers(source, dtype):
        last = s.sum({value.base: 1}, 0, value.base.dtype)
        if value.stride.__class__ is IntImm and s.exact(last) and _ramp_fits(s, value):
            element = dtype.element
            base, stride = (convert(s, element, part) for part in (value.base, value.stride))
            return ramp(s, base, stride, value.lanes)
    return s.intern(Cast(dtype, value))


def _ramp_fits(s: Simplifier, value: Any) -> bool:
    """Whether no lane of the ramp wraps around."""
    dtype = value.base.dtype
    low, high = s.bounds(value.base)
    reach = value.stride.value * (value.lanes - 1)
    return dtype.min_int <= low + min(reach, 0) and high + max(reach, 0) <= dtype.max_int


def keeps_integers(source: DType, target: DType) -> bool:
    """Whether every value of the integer type `source` is a value of the integer type `target`."""
    if not source.is_integral or not target.is_integral or target.is_bool:
        return False
    return target.min_int <= source.min_int and source.max_int <= target.max_int


Simplifier.handlers[Cast] = simplify_cast
