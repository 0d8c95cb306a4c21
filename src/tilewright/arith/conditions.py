"""Conditions as lists of the parts that all must hold."""

from __future__ import annotations

from tilewright.ir.expr import And, Call, Expr, is_const_int


def conjuncts(*conditions: Expr) -> list[Expr]:
    """What must hold for all of `conditions` to hold, in order.

    Parts that `And` joins are taken apart, marks by `likely` are taken off, and the constant True
    is left out.
    """
    found: list[Expr] = []
    for condition in conditions:
        if isinstance(condition, And):
            found += conjuncts(condition.a, condition.b)
        elif isinstance(condition, Call) and getattr(condition.op, "name", None) == "tir.likely":
            found += conjuncts(*condition.args)
        elif not is_const_int(condition, 1):
            found.append(condition)
    return found
