"""Vectors: arithmetic on ramps and broadcasts becomes arithmetic on their scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir.expr import Add, Broadcast, Expr, FloorDiv, FloorMod, IntImm, Mul, Ramp, Sub


def broadcast(s: Simplifier, value: Expr, lanes: int) -> Expr:
    """The vector of `lanes` times a simplified scalar."""
    return s.intern(Broadcast(value, lanes))


def ramp(s: Simplifier, base: Expr, stride: Expr, lanes: int) -> Expr:
    """A ramp of simplified scalars; one without a slope is a broadcast."""
    if stride.__class__ is IntImm and stride.value == 0:  # type: ignore[attr-defined]
        return broadcast(s, base, lanes)
    return s.intern(Ramp(base, stride, lanes))


def simplify_vector(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """``kind(a, b)`` of simplified operands, for any binary operator."""
    if a.__class__ is Broadcast and b.__class__ is Broadcast:
        return broadcast(s, s.construct(kind, a.value, b.value), a.lanes)  # type: ignore[attr-defined]
    rule = _RAMP_RULES.get(kind)
    if rule is not None and a.dtype.lanes > 1 and a.dtype.is_integral:
        found = rule(s, a, b)
        if found is not None:
            return found
    return s.make(kind, a, b)


def _line(s: Simplifier, vector: Any) -> tuple[Expr, Expr] | None:
    """Base and stride of a ramp or a broadcast."""
    if vector.__class__ is Ramp:
        return vector.base, vector.stride
    if vector.__class__ is Broadcast:
        return vector.value, s.constant(0, vector.dtype.element)
    return None


def _linewise(kind: type[Any]) -> Callable[[Simplifier, Any, Any], Expr | None]:
    def rule(s: Simplifier, a: Any, b: Any) -> Expr | None:
        left, right = _line(s, a), _line(s, b)
        if left is None or right is None:
            return None
        base = s.construct(kind, left[0], right[0])
        return ramp(s, base, s.construct(kind, left[1], right[1]), a.dtype.lanes)

    return rule


def _multiple(s: Simplifier, a: Any, b: Any) -> Expr | None:
    line, factor = (a, b) if a.__class__ is Ramp else (b, a)
    if line.__class__ is not Ramp or factor.__class__ is not Broadcast:
        return None
    base = s.construct(Mul, line.base, factor.value)
    return ramp(s, base, s.construct(Mul, line.stride, factor.value), line.lanes)


def _tile(s: Simplifier, a: Any, b: Any) -> tuple[int, int] | None:
    """Stride and divisor of a ramp that is divided by a positive constant."""
    if a.__class__ is not Ramp or b.__class__ is not Broadcast:
        return None
    if a.stride.__class__ is not IntImm or b.value.__class__ is not IntImm or b.value.value <= 0:
        return None
    if not s.exact(a.base):
        return None
    last = s.sum({a.base: 1}, a.stride.value * (a.lanes - 1), a.base.dtype)
    return (a.stride.value, b.value.value) if s.exact(last) else None


def _in_one_tile(s: Simplifier, a: Any, stride: int, divisor: int) -> bool:
    """Whether all lanes of the ramp `a` have the same quotient."""
    offset = s.construct(FloorMod, a.base, s.constant(divisor, a.base.dtype))
    low, high = s.bounds(offset)
    reach = stride * (a.lanes - 1)
    return low + min(reach, 0) >= 0 and high + max(reach, 0) < divisor


def _floordiv(s: Simplifier, a: Any, b: Any) -> Expr | None:
    tile = _tile(s, a, b)
    if tile is None:
        return None
    stride, divisor = tile
    if stride % divisor == 0:
        step = s.constant(stride // divisor, a.base.dtype)
        return ramp(s, s.construct(FloorDiv, a.base, b.value), step, a.lanes)
    if _in_one_tile(s, a, stride, divisor):
        return broadcast(s, s.construct(FloorDiv, a.base, b.value), a.lanes)
    return None


def _floormod(s: Simplifier, a: Any, b: Any) -> Expr | None:
    tile = _tile(s, a, b)
    if tile is None:
        return None
    stride, divisor = tile
    if stride % divisor == 0:
        return broadcast(s, s.construct(FloorMod, a.base, b.value), a.lanes)
    if _in_one_tile(s, a, stride, divisor):
        return ramp(s, s.construct(FloorMod, a.base, b.value), a.stride, a.lanes)
    return None


_RAMP_RULES: dict[type[Any], Callable[[Simplifier, Any, Any], Expr | None]] = {
    Add: _linewise(Add),
    Sub: _linewise(Sub),
    Mul: _multiple,
    FloorDiv: _floordiv,
    FloorMod: _floormod,
}


def simplify_ramp(s: Simplifier, expr: Any) -> Expr:
    """A `Ramp` node."""
    return ramp(s, s(expr.base), s(expr.stride), expr.lanes)


def simplify_broadcast(s: Simplifier, expr: Any) -> Expr:
    """A `Broadcast` node."""
    return broadcast(s, s(expr.value), expr.lanes)


Simplifier.handlers[Ramp] = simplify_ramp
Simplifier.handlers[Broadcast] = simplify_broadcast
