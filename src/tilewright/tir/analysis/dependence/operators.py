"""The operators of integer expressions that are affine, or piecewise so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tilewright.ir.expr import (
    Add,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Ramp,
    Select,
    Sub,
)
from tilewright.tir.analysis.dependence.solver import Linear, is_constant, plus, text_of

if TYPE_CHECKING:
    from tilewright.tir.analysis.dependence.affine import Affine

LONGEST: Final = 4000
"""Characters of a quotient above which an expression counts as not affine."""


def _add(affine: Affine, expr: Add) -> Linear:
    return plus(affine.linear(expr.a), affine.linear(expr.b))


def _subtract(affine: Affine, expr: Sub) -> Linear:
    return plus(affine.linear(expr.a), affine.linear(expr.b), -1)


def _multiply(affine: Affine, expr: Mul) -> Linear | None:
    left, right = affine.linear(expr.a), affine.linear(expr.b)
    if is_constant(right):
        return plus({}, left, right.get("", 0))
    if is_constant(left):
        return plus({}, right, left.get("", 0))
    return None


def _quotient(affine: Affine, expr: FloorDiv) -> Linear | None:
    by = _divisor(expr.b)
    if by is None:
        return None
    dividend = affine.linear(expr.a)
    if is_constant(dividend):
        return {"": dividend.get("", 0) // by}
    if by == 1:
        return dividend
    return _short({f"floor(({text_of(dividend)})/{by})": 1})


def _remainder(affine: Affine, expr: FloorMod) -> Linear | None:
    by = _divisor(expr.b)
    if by is None:
        return None
    dividend = affine.linear(expr.a)
    if is_constant(dividend):
        return {"": dividend.get("", 0) % by}
    quotient = _short({f"floor(({text_of(dividend)})/{by})": 1})
    return None if quotient is None else plus(dividend, quotient, -by)


def _divisor(expr: Expr) -> int | None:
    value = expr.value if isinstance(expr, IntImm) else 0
    return value if value > 0 else None


def _short(form: Linear) -> Linear | None:
    return form if sum(map(len, form)) < LONGEST else None


def _truncated(affine: Affine, expr: Div | Mod) -> Linear | None:
    """Division that rounds to zero: -(-a // b) for negative a."""
    by = _divisor(expr.b)
    if by is None:
        return None
    a = affine.linear(expr.a)
    up, down = f"floor(({text_of(a)})/{by})", f"floor(({text_of(plus({}, a, -1))})/{by})"
    if len(up) > LONGEST:
        return None
    negative, other = f"{text_of(a)} < 0", f"{text_of(a)} >= 0"
    quotient = _either(affine, other, {up: 1}, negative, {down: -1})
    return quotient if isinstance(expr, Div) else plus(a, quotient, -by)


def _either(affine: Affine, first: str, a: Linear, second: str, b: Linear) -> Linear:
    """A new integer that is `a` where the formula `first` holds, `b` where `second` does."""
    name = affine.unknown(exact=True)
    one, other = f"{name} = {text_of(a)} and {first}", f"{name} = {text_of(b)} and {second}"
    affine.constraints.append(f"(({one}) or ({other}))")
    return {name: 1}


def _extremum(affine: Affine, expr: Min | Max) -> Linear:
    a, b = affine.linear(expr.a), affine.linear(expr.b)
    x, y = text_of(a), text_of(b)
    first, second = (f"{x} <= {y}", f"{x} > {y}")
    if isinstance(expr, Max):
        first, second = f"{x} >= {y}", f"{x} < {y}"
    return _either(affine, first, a, second, b)


def _choice(affine: Affine, condition: Expr, yes: Expr, no: Expr) -> Linear:
    holds, fails = affine.formula(condition), affine.formula(condition, negated=True)
    return _either(affine, holds, affine.linear(yes), fails, affine.linear(no))


def _select(affine: Affine, expr: Select) -> Linear:
    return _choice(affine, expr.condition, expr.true_value, expr.false_value)


def _call(affine: Affine, expr: Call) -> Linear | None:
    name = getattr(expr.op, "name", "")
    if name == "tir.likely":
        return affine.linear(expr.args[0])
    if name == "tir.if_then_else":
        return _choice(affine, *expr.args)
    power = small_constant(expr.args[1]) if len(expr.args) == 2 else None
    if power is None:
        return None
    dtype = expr.dtype
    if name == "tir.shift_right":
        return affine.linear(FloorDiv(expr.args[0], IntImm(dtype, 1 << power)))
    if name == "tir.shift_left":
        return plus({}, affine.linear(expr.args[0]), 1 << power)
    if name == "tir.bitwise_and" and power & (power + 1) == 0:
        return affine.linear(FloorMod(expr.args[0], IntImm(dtype, power + 1)))
    return None


def _cast(affine: Affine, expr: Cast) -> Linear | None:
    source, target = expr.value.dtype, expr.dtype
    if source.is_bool:
        holds = affine.formula(expr.value)
        return _either(affine, holds, {"": 1}, affine.formula(expr.value, negated=True), {})
    wide_enough = source.is_int or (source.is_uint and source.bits < target.bits)
    return affine.linear(expr.value) if wide_enough else None


def _let(affine: Affine, expr: Let) -> Linear:
    scope = affine.scope
    affine.scope = {**scope, expr.var: expr.value}
    try:
        return affine.linear(expr.body)
    finally:
        affine.scope = scope


def _ramp(affine: Affine, expr: Ramp) -> Linear | None:
    stride = affine.linear(expr.stride)
    if not is_constant(stride):
        return None
    lane = affine.unknown(exact=True)
    affine.constraints.append(f"0 <= {lane} < {expr.lanes}")
    return plus(affine.linear(expr.base), {lane: stride.get("", 0)})


def _broadcast(affine: Affine, expr: Broadcast) -> Linear:
    return affine.linear(expr.value)


def small_constant(expr: Expr) -> int | None:
    """The value of a constant that may be the distance of a shift; None for anything else."""
    return expr.value if isinstance(expr, IntImm) and 0 <= expr.value < 31 else None


OPERATORS: Final[dict[type, Any]] = {
    Add: _add,
    Sub: _subtract,
    Mul: _multiply,
    FloorDiv: _quotient,
    FloorMod: _remainder,
    Div: _truncated,
    Mod: _truncated,
    Min: _extremum,
    Max: _extremum,
    Select: _select,
    Call: _call,
    Cast: _cast,
    Let: _let,
    Ramp: _ramp,
    Broadcast: _broadcast,
}
"""For each class of expressions, what gives its linear form, or None where it has none."""
