"""Constant bounds of integer expressions, and what evaluating an expression may do.

Whether arithmetic may be taken not to overflow depends on where its operands come from. Arithmetic
on variables of int32 and int64 computes indices and sizes and is taken not to overflow, as in C.
Arithmetic on anything else (values loaded from memory, results of calls, narrow and unsigned types)
wraps around, and its bounds say so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tilewright.arith.facts import EVERYTHING, UNBOUNDED, Facts, FormKey, Interval
from tilewright.arith.linear import Terms, variables_of
from tilewright.ir.dtype import INT32, INT64, DType
from tilewright.ir.expr import (
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    CompareExpr,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    Var,
)
from tilewright.ir.folding import fold_constants, trunc_div_int
from tilewright.ir.op import CallEffectKind, Op

DATA = 1
"""The value comes from memory or from a call, so arithmetic on it may wrap around."""
PARTIAL = 2
"""Evaluation may fail or read memory: a division by zero, an access out of bounds."""
IMPURE = 4
"""Evaluation changes something; two evaluations are not the same."""

_DIVISIONS = frozenset({Div, Mod, FloorDiv, FloorMod})
_TOTAL = frozenset(
    {Add, Sub, Mul, Min, Max, And, Or, Not, Select, Cast, Ramp, Broadcast, Shuffle, Let}
)
_LEAVES = frozenset({Var, SizeVar, IntImm, FloatImm, StringImm})


def effects_of(facts: Facts, expr: Expr) -> int:
    """A combination of `DATA`, `PARTIAL` and `IMPURE`."""
    kind = expr.__class__
    if kind in _LEAVES:
        return DATA if expr in facts.data else 0
    found = facts.effects_memo.get(expr)
    if found is None:
        found = _own_effects(facts, expr)
        for child in expr.children():
            # Children that are not expressions (the combiner of a reduction) belong to an opaque
            # node, which has all effects of reading already.
            if isinstance(child, Expr):
                found |= effects_of(facts, child)
        facts.effects_memo[expr] = found
    return found


def _own_effects(facts: Facts, expr: Expr) -> int:
    if isinstance(expr, CompareExpr) or expr.__class__ in _TOTAL:
        return 0
    if expr.__class__ in _DIVISIONS:
        if not expr.dtype.is_integral:
            return 0
        return 0 if is_nonzero(facts, expr.b, expr.a) else PARTIAL  # type: ignore[attr-defined]
    if isinstance(expr, Call):
        if not isinstance(expr.op, Op) or expr.op.effect > CallEffectKind.READ_STATE:
            return DATA | PARTIAL | IMPURE
        return DATA | PARTIAL if expr.op.effect is CallEffectKind.READ_STATE else DATA
    return DATA | PARTIAL


def is_nonzero(facts: Facts, divisor: Expr, dividend: Expr) -> bool:
    """Whether `divisor` is known not to be 0 wherever `dividend` is evaluated.

    Besides its bounds that is so if the dividend mentions a variable whose range has a multiple of
    the divisor as its extent, or parts of such a multiple: the variable has a value only if that is
    not 0.
    """
    low, high = bounds_of(facts, divisor)
    if low > 0 or high < 0:
        return True
    wanted = _factors(divisor)
    for var in variables_of(dividend):
        known = facts.symbolic.get(var)
        if known is None:
            # Learning the range of the variable later may change the answer.
            facts.unknown.add(var)
        elif wanted <= _factors(_divided(known.extent)):
            return True
    return False


def _divided(extent: Expr) -> Expr:
    """What is divided into parts, rounded up or down, if an extent is the number of parts.

    There are some only if it is at least 1: ``(n + 31) // 32`` is 1 only where ``n`` is.
    """
    if not isinstance(extent, FloorDiv) or not isinstance(extent.b, IntImm) or extent.b.value < 1:
        return extent
    whole = extent.a
    if isinstance(whole, Add) and isinstance(whole.b, IntImm) and whole.b.value < extent.b.value:
        return whole.a
    return whole


def _factors(expr: Expr) -> set[Expr]:
    """The factors of a product."""
    if isinstance(expr, Mul):
        return _factors(expr.a) | _factors(expr.b)
    return {expr}


def type_bounds(dtype: DType) -> Interval:
    """The values of an integer type."""
    return dtype.min_int, dtype.max_int


def fits(interval: Interval, dtype: DType) -> bool:
    """Whether all values of `interval` are values of `dtype`."""
    return dtype.min_int <= interval[0] and interval[1] <= dtype.max_int


def bounds_of(facts: Facts, expr: Any) -> Interval:
    """The smallest and the largest value that `expr` (integer) can have, as far as known."""
    kind = expr.__class__
    if kind is IntImm:
        return expr.value, expr.value
    if kind is Var or kind is SizeVar:
        found = facts.ranges.get(expr)
        return _unknown_variable(facts, expr) if found is None else found
    found = facts.bounds_memo.get(expr)
    if found is None:
        rule = _RULES.get(kind)
        found = type_bounds(expr.dtype) if rule is None else rule(facts, expr)
        known = facts.ranges.get(expr)
        if known is not None:
            found = max(found[0], known[0]), min(found[1], known[1])
        if found[0] < -UNBOUNDED or found[1] > UNBOUNDED:
            # Otherwise a product of many unknown sizes has bounds of as many digits.
            low, high = (min(max(end, -UNBOUNDED), UNBOUNDED) for end in found)
            found = low, high
        facts.bounds_memo[expr] = found
    return found


def _unknown_variable(facts: Facts, var: Expr) -> Interval:
    facts.unknown.add(var)
    if var in facts.values:
        return bounds_of(facts, facts.values[var])
    if var.dtype is INT32 or var.dtype is INT64:
        return (0, UNBOUNDED) if var.__class__ is SizeVar else EVERYTHING
    return type_bounds(var.dtype) if var.dtype.is_integral else EVERYTHING


def linear_bounds(facts: Facts, terms: Terms, constant: int) -> Interval:
    """Bounds of ``sum(factor * term) + constant``, computed without wrapping around."""
    low = high = constant
    ranges = facts.ranges
    for term, factor in terms.items():
        known = ranges.get(term) if term.__class__ is Var else None
        least, most = bounds_of(facts, term) if known is None else known
        if factor >= 0:
            low += factor * least
            high += factor * most
        else:
            low += factor * most
            high += factor * least
    if facts.forms:
        return _tightened(facts, terms, constant, low, high)
    return low, high


def _tightened(facts: Facts, terms: Terms, constant: int, low: int, high: int) -> Interval:
    """The bounds, by what is known of sums of which a multiple is a part of this one."""
    for form, known in facts.forms.items():
        ratio = _ratio(form, terms)
        if not ratio:
            continue
        least, most = (ratio * known[0], ratio * known[1])[:: 1 if ratio > 0 else -1]
        inside = {term for term, _ in form}
        for term, factor in terms.items():
            if term not in inside:
                bounds = bounds_of(facts, term)
                ends = (factor * bounds[0], factor * bounds[1])
                least, most = least + min(ends), most + max(ends)
        low, high = max(low, least + constant), min(high, most + constant)
    return low, high


def _ratio(form: FormKey, terms: Terms) -> int:
    """By what the terms of `form` are multiplied among `terms`; 0 if they are not a multiple."""
    ratio = 0
    for term, factor in form:
        quotient, rest = divmod(terms.get(term, 0), factor)
        if rest or not quotient or (ratio and quotient != ratio):
            return 0
        ratio = quotient
    return ratio


def is_exact(facts: Facts, terms: Terms, interval: Interval, dtype: DType) -> bool:
    """Whether a sum with these bounds has its mathematical value in `dtype`."""
    if fits(interval, dtype):
        return True
    if dtype is not INT32 and dtype is not INT64:
        return False
    return not any(effects_of(facts, term) & DATA for term in terms)


# --- one rule per node class ----------------------------------------------------------------


def _wrapped(facts: Facts, expr: Any, interval: Interval) -> Interval:
    """`interval`, or all values of the type if `expr` may have wrapped around."""
    dtype = expr.dtype
    if fits(interval, dtype):
        return interval
    if isinstance(expr, BinaryExpr):
        # A number that the dtype does not hold is not an index.
        folded = fold_constants(expr.__class__, expr.a, expr.b)
        if isinstance(folded, IntImm):
            return folded.value, folded.value
    if (dtype is INT32 or dtype is INT64) and not effects_of(facts, expr) & DATA:
        return interval
    return type_bounds(dtype.element)


def _add(facts: Facts, expr: Any) -> Interval:
    (a, b), (c, d) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    return _wrapped(facts, expr, (a + c, b + d))


def _sub(facts: Facts, expr: Any) -> Interval:
    (a, b), (c, d) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    return _wrapped(facts, expr, (a - d, b - c))


def _mul(facts: Facts, expr: Any) -> Interval:
    return _wrapped(facts, expr, product(bounds_of(facts, expr.a), bounds_of(facts, expr.b)))


def product(x: Interval, y: Interval) -> Interval:
    """Bounds of the product of two values."""
    corners = (x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1])
    return min(corners), max(corners)


def _nonzero(divisor: Interval) -> Interval | None:
    """A divisor that is not 0, as one interval; None if it can have both signs."""
    low, high = divisor
    if low >= 0:
        return max(low, 1), max(high, 1)
    if high <= 0:
        return min(low, -1), min(high, -1)
    return None


def _quotient(facts: Facts, expr: Any, divide: Callable[[int, int], int]) -> Interval:
    (low, high), divisor = bounds_of(facts, expr.a), _nonzero(bounds_of(facts, expr.b))
    if divisor is None:
        most = max(abs(low), abs(high))
        return _wrapped(facts, expr, (-most, most))
    corners = [divide(value, by) for value in (low, high) for by in divisor]
    return _wrapped(facts, expr, (min(corners), max(corners)))


def _floordiv(facts: Facts, expr: Any) -> Interval:
    return _quotient(facts, expr, operator.floordiv)


def _truncdiv(facts: Facts, expr: Any) -> Interval:
    return _quotient(facts, expr, trunc_div_int)


def _floormod(facts: Facts, expr: Any) -> Interval:
    (low, high), (least, most) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    if least == most != 0 and low // least == high // least:
        return low % least, high % least
    if least >= 0:
        top = max(most - 1, 0)
        return 0, min(top, high) if low >= 0 else top
    return min(least + 1, 0), max(most - 1, 0)


def _truncmod(facts: Facts, expr: Any) -> Interval:
    (low, high), (least, most) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    top = max(abs(least), abs(most), 1) - 1
    return (0 if low >= 0 else max(low, -top)), (0 if high <= 0 else min(high, top))


def _min(facts: Facts, expr: Any) -> Interval:
    (a, b), (c, d) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    return min(a, c), min(b, d)


def _max(facts: Facts, expr: Any) -> Interval:
    (a, b), (c, d) = bounds_of(facts, expr.a), bounds_of(facts, expr.b)
    return max(a, c), max(b, d)


def union(x: Interval, y: Interval) -> Interval:
    """The smallest interval with the values of both."""
    return min(x[0], y[0]), max(x[1], y[1])


def _select(facts: Facts, expr: Any) -> Interval:
    return union(bounds_of(facts, expr.true_value), bounds_of(facts, expr.false_value))


def _cast(facts: Facts, expr: Any) -> Interval:
    source, target = expr.value.dtype.element, expr.dtype.element
    if not source.is_integral or not target.is_integral:
        return type_bounds(target)
    low, high = bounds_of(facts, expr.value)
    if target.is_bool:
        return (1, 1) if low > 0 or high < 0 else (0, 0) if low == high == 0 else (0, 1)
    low, high = max(low, source.min_int), min(high, source.max_int)
    return (low, high) if fits((low, high), target) else type_bounds(target)


def _broadcast(facts: Facts, expr: Any) -> Interval:
    return bounds_of(facts, expr.value)


def _ramp(facts: Facts, expr: Any) -> Interval:
    low, high = bounds_of(facts, expr.base)
    steps = product(bounds_of(facts, expr.stride), (0, expr.lanes - 1))
    return _wrapped(facts, expr, (low + steps[0], high + steps[1]))


def _call(facts: Facts, expr: Any) -> Interval:
    name = getattr(expr.op, "name", None)
    dtype = expr.dtype.element
    if not dtype.is_integral:
        return EVERYTHING
    if name == "tir.if_then_else":
        return union(bounds_of(facts, expr.args[1]), bounds_of(facts, expr.args[2]))
    if name == "tir.likely":
        return bounds_of(facts, expr.args[0])
    if name == "tir.bitwise_and":
        tops = [top for low, top in (bounds_of(facts, arg) for arg in expr.args) if low >= 0]
        return (0, min(tops)) if tops else type_bounds(dtype)
    if name == "tir.shift_right":
        (low, high), (least, most) = (bounds_of(facts, arg) for arg in expr.args)
        if 0 <= least <= most < dtype.bits:
            corners = [value >> by for value in (low, high) for by in (least, most)]
            return min(corners), max(corners)
    return type_bounds(dtype)


_RULES: dict[type[Any], Callable[[Facts, Any], Interval]] = {
    Add: _add,
    Sub: _sub,
    Mul: _mul,
    FloorDiv: _floordiv,
    FloorMod: _floormod,
    Div: _truncdiv,
    Mod: _truncmod,
    Min: _min,
    Max: _max,
    Select: _select,
    Cast: _cast,
    Broadcast: _broadcast,
    Ramp: _ramp,
    Call: _call,
}
