"""The operators of integer expressions that are affine, or piecewise so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tilewright.arith.linear import ZERO, LinearForm, single
from tilewright.ir.expr import (
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
)
from tilewright.tir.analysis.dependence.solver import text_of

if TYPE_CHECKING:
    from tilewright.tir.analysis.dependence.affine import Affine

LONGEST: Final = 4000
"""Characters of a quotient above which an expression counts as not affine."""


def _multiply(affine: Affine, expr: Mul) -> LinearForm | None:
    left, right = affine.linear(expr.a), affine.linear(expr.b)
    if right.is_constant():
        return left.times(right.constant)
    return right.times(left.constant) if left.is_constant() else None


def _divide(affine: Affine, expr: FloorDiv | FloorMod) -> LinearForm | None:
    by = _divisor(expr.b)
    if by is None:
        return None
    dividend = affine.linear(expr.a)
    quotient = _quotient(dividend, by)
    if quotient is None or isinstance(expr, FloorDiv):
        return quotient
    return dividend.plus(quotient, -by)


def _quotient(dividend: LinearForm, by: int) -> LinearForm | None:
    if dividend.is_constant():
        return LinearForm({}, dividend.constant // by)
    if by == 1:
        return dividend
    text = f"floor(({text_of(dividend)})/{by})"
    return single(text) if len(text) < LONGEST else None


def _divisor(expr: Expr) -> int | None:
    value = expr.value if isinstance(expr, IntImm) else 0
    return value if value > 0 else None


def _truncated(affine: Affine, expr: Div | Mod) -> LinearForm | None:
    """Division that rounds to zero: -(-a // b) for negative a."""
    by = _divisor(expr.b)
    if by is None:
        return None
    a = affine.linear(expr.a)
    up, down = _quotient(a, by), _quotient(a.times(-1), by)
    if up is None or down is None:
        return None
    negative, other = f"{text_of(a)} < 0", f"{text_of(a)} >= 0"
    quotient = _either(affine, other, up, negative, down.times(-1))
    return quotient if isinstance(expr, Div) else a.plus(quotient, -by)


def _either(affine: Affine, first: str, a: LinearForm, second: str, b: LinearForm) -> LinearForm:
    """A new integer that is `a` where the formula `first` holds, `b` where `second` does."""
    name = affine.unknown(exact=True)
    one, other = f"{name} = {text_of(a)} and {first}", f"{name} = {text_of(b)} and {second}"
    affine.constraints.append(f"(({one}) or ({other}))")
    return single(name)


def _extremum(affine: Affine, expr: Min | Max) -> LinearForm:
    a, b = affine.linear(expr.a), affine.linear(expr.b)
    x, y = text_of(a), text_of(b)
    first, second = (f"{x} <= {y}", f"{x} > {y}")
    if isinstance(expr, Max):
        first, second = f"{x} >= {y}", f"{x} < {y}"
    return _either(affine, first, a, second, b)


def _choice(affine: Affine, condition: Expr, yes: Expr, no: Expr) -> LinearForm:
    holds, fails = affine.formula(condition), affine.formula(condition, negated=True)
    return _either(affine, holds, affine.linear(yes), fails, affine.linear(no))


def _select(affine: Affine, expr: Select) -> LinearForm:
    return _choice(affine, expr.condition, expr.true_value, expr.false_value)


def _call(affine: Affine, expr: Call) -> LinearForm | None:
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
        return affine.linear(expr.args[0]).times(1 << power)
    if name == "tir.bitwise_and" and power & (power + 1) == 0:
        return affine.linear(FloorMod(expr.args[0], IntImm(dtype, power + 1)))
    return None


def _cast(affine: Affine, expr: Cast) -> LinearForm | None:
    source, target = expr.value.dtype, expr.dtype
    if source.is_bool:
        holds = affine.formula(expr.value)
        fails = affine.formula(expr.value, negated=True)
        return _either(affine, holds, LinearForm({}, 1), fails, ZERO)
    wide_enough = source.is_int or (source.is_uint and source.bits < target.bits)
    return affine.linear(expr.value) if wide_enough else None


def _let(affine: Affine, expr: Let) -> LinearForm:
    scope = affine.scope
    affine.scope = {**scope, expr.var: expr.value}
    try:
        return affine.linear(expr.body)
    finally:
        affine.scope = scope


def _ramp(affine: Affine, expr: Ramp) -> LinearForm | None:
    stride = affine.linear(expr.stride)
    if not stride.is_constant():
        return None
    lane = affine.unknown(exact=True)
    affine.constraints.append(f"0 <= {lane} < {expr.lanes}")
    return affine.linear(expr.base).plus(single(lane), stride.constant)


def _broadcast(affine: Affine, expr: Broadcast) -> LinearForm:
    return affine.linear(expr.value)


def small_constant(expr: Expr) -> int | None:
    """The value of a constant that may be the distance of a shift; None for anything else."""
    return expr.value if isinstance(expr, IntImm) and 0 <= expr.value < 31 else None


OPERATORS: Final[dict[type, Any]] = {
    Mul: _multiply,
    FloorDiv: _divide,
    FloorMod: _divide,
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
