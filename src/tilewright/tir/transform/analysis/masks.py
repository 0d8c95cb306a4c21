"""Masks of vectors."""

from __future__ import annotations

from tilewright.ir.expr import LT, Broadcast, Expr, IntImm, Ramp


def leading_lanes(predicate: Expr) -> Expr | None:
    """The number of lanes for which a predicate holds, if these are the first ones.

    It is 0 or less, or the number of lanes or more, if the predicate holds for none or for all.
    None for other forms than ``Ramp(i, 1, lanes) < Broadcast(n, lanes)``.
    """
    if not isinstance(predicate, LT):
        return None
    lane, limit = predicate.a, predicate.b
    if not (isinstance(lane, Ramp) and isinstance(limit, Broadcast)):
        return None
    is_next = isinstance(lane.stride, IntImm) and lane.stride.value == 1
    return limit.value - lane.base if is_next else None
