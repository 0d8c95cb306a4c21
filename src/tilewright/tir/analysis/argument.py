"""Updates that find where a maximum or a minimum is: pairs of a key and what goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.convert import const
from tilewright.ir.expr import EQ, GE, GT, LE, LT, And, Call, Expr, Max, Min, Or, Select, Var
from tilewright.tir.analysis.identical import identical
from tilewright.tir.analysis.update import Match, limit, match_update, operands_for
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import CommReducer


class _Better(NamedTuple):
    """A comparison of two keys: the old pair stays where it holds."""

    key: int
    """Which target is compared."""
    value: Expr
    """What it is compared with."""
    is_maximum: bool
    condition: Expr


def match_argument(values: Sequence[Expr], targets: tuple[BufferLoad, ...]) -> Match | None:
    """Values that all are the old one where the old key is better, else the new one."""
    chosen: list[Expr | None] = [None] * len(targets)
    better: _Better | None = None
    extrema: dict[int, Expr] = {}
    for position, (value, target) in enumerate(zip(values, targets, strict=True)):
        parts = _choice(value)
        if parts is None:
            extrema[position] = value
            continue
        condition, old, new = parts
        if not identical(old, target):
            return None
        found = _comparison(condition, targets)
        if found is None or (
            better is not None and not identical(found.condition, better.condition)
        ):
            return None
        better, chosen[position] = found, new
    if better is None:
        return None
    for position, value in extrema.items():
        kind = Max if better.is_maximum else Min
        single = match_update(value, targets[position])
        if position != better.key or single is None or single.operator is not kind:
            return None
        chosen[position] = single.value
    news = tuple(item for item in chosen if item is not None)
    if len(news) != len(targets) or not identical(news[better.key], better.value):
        return None
    return _argument(better, news, targets)


def _choice(value: Expr) -> tuple[Expr, Expr, Expr] | None:
    if isinstance(value, Select):
        return value.condition, value.true_value, value.false_value
    if isinstance(value, Call) and getattr(value.op, "name", "") == "tir.if_then_else":
        return value.args[0], value.args[1], value.args[2]
    return None


def _comparison(condition: Expr, targets: tuple[BufferLoad, ...]) -> _Better | None:
    """``old >= new``, or ``old > new or (old == new and i < j)``, and so on."""
    plain = condition.a if isinstance(condition, Or) else condition
    if isinstance(plain, (GT, GE)):
        old, new, is_maximum = plain.a, plain.b, True
    elif isinstance(plain, (LT, LE)):
        old, new, is_maximum = plain.a, plain.b, False
    else:
        return None
    position = _position(old, targets)
    if position is None:
        old, new, is_maximum = new, old, not is_maximum
        position = _position(old, targets)
    if position is None:
        return None
    if isinstance(condition, Or) and not _breaks_ties(condition.b, old, new, targets, position):
        return None
    return _Better(position, new, is_maximum, condition)


def _position(expr: Expr, targets: tuple[BufferLoad, ...]) -> int | None:
    return next((n for n, target in enumerate(targets) if identical(expr, target)), None)


def _breaks_ties(
    condition: Expr, old: Expr, new: Expr, targets: tuple[BufferLoad, ...], key: int
) -> bool:
    """Whether `condition` compares another component where the keys are equal."""
    if not (isinstance(condition, And) and isinstance(condition.a, EQ)):
        return False
    same, other = condition.a, condition.b
    if not (
        (identical(same.a, old) and identical(same.b, new))
        or (identical(same.a, new) and identical(same.b, old))
    ):
        return False
    if not isinstance(other, (LT, LE, GT, GE)):
        return False
    position = _position(other.a, targets)
    return position is not None and position != key


def _argument(
    better: _Better, news: tuple[Expr, ...], targets: tuple[BufferLoad, ...]
) -> Match | None:
    lhs, rhs = operands_for("x", targets), operands_for("y", targets)
    condition = _abstract(better.condition, targets, lhs, news, rhs)
    if condition is None:
        return None
    result = tuple(Select(condition, x, y) for x, y in zip(lhs, rhs, strict=True))
    neutral = [
        limit(t.dtype, least=better.is_maximum)
        if n == better.key
        else const(0 if t.dtype.is_uint else -1, t.dtype)
        for n, t in enumerate(targets)
    ]
    strict = isinstance(better.condition, Or) and isinstance(better.condition.a, (GT, LT))
    return Match(CommReducer(lhs, rhs, result, tuple(neutral)), news, not strict)


def _abstract(
    condition: Expr,
    targets: tuple[BufferLoad, ...],
    lhs: tuple[Var, ...],
    news: tuple[Expr, ...],
    rhs: tuple[Var, ...],
) -> Expr | None:
    """A comparison of old and new values in terms of variables that stand for them."""

    def visit(expr: Expr) -> Expr | None:
        for item, var in (*zip(targets, lhs, strict=True), *zip(news, rhs, strict=True)):
            if identical(expr, item):
                return var
        if not isinstance(expr, (And, Or, EQ, GT, GE, LT, LE)):
            return None
        a, b = visit(expr.a), visit(expr.b)
        return None if a is None or b is None else type(expr)(a, b)

    return visit(condition)
