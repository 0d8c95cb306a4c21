"""Loops seen as the one loop that they were split of, which a condition may cut short.

A loop of 144 that is split among 14 threads with vectors of 2 becomes ``6 * 14 * 2`` iterations
with the condition ``o * 28 + t * 2 + l < 144``. The sum on the left counts the iterations that run,
and indices are functions of it. They do not show it, as simplifying has reduced the coefficients::

    (o * 28 + t * 2 + l) % 9       ->      (o + t * 2 + l) % 9
    (o * 28 + t * 2 + l) // 36     ->      (o * 14 + t) // 18
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tilewright.arith.facts import conjuncts
from tilewright.arith.linear import Terms, collect
from tilewright.ir.convert import const
from tilewright.ir.expr import (
    LT,
    Add,
    And,
    Expr,
    FloorMod,
    IntImm,
    Var,
    const_int_value,
    is_const_int,
)
from tilewright.ir.range import Range
from tilewright.ir.rewrite import Rewriter


class FusedLoops(NamedTuple):
    """Indices with one iterator in place of several.

    Attributes:
        indices: in terms of the new iterator.
        iterators: the domains.
        predicate: what else restricts them.
    """

    indices: list[Expr]
    iterators: dict[Var, Range]
    predicate: Expr


class _Digit(NamedTuple):
    """An iterator as a digit of the number that the sum is."""

    var: Var
    unit: int
    extent: int


def as_fused_loops(
    indices: Sequence[Expr], iterators: Mapping[Var, Range], predicate: Expr
) -> FusedLoops | None:
    """The iterators whose sum a condition bounds as one iterator; without conditions, all of them.

    Args:
        indices: functions of the iterators.
        iterators: their domains, the outermost first.
        predicate: in which iterations the indices count.

    Returns:
        None if they cannot be one.
    """
    conditions = conjuncts(predicate)
    for position, condition in enumerate(conditions):
        digits = _digits_of_sum(condition, iterators)
        if digits is not None:
            others = [*conditions[:position], *conditions[position + 1 :]]
            most = const_int_value(condition.b)  # type: ignore[attr-defined]
            return _fused(indices, iterators, digits, _all_of(others), most)
    digits = None if conditions or len(iterators) < 2 else _digits_in_order(iterators)
    return None if digits is None else _fused(indices, iterators, digits, predicate, None)


def _all_of(conditions: Sequence[Expr]) -> Expr:
    return functools.reduce(And, conditions) if conditions else const(True)


def _fused(
    indices: Sequence[Expr],
    iterators: Mapping[Var, Range],
    digits: Sequence[_Digit],
    predicate: Expr,
    most: int | None,
) -> FusedLoops:
    """The digits as one iterator, with at most that number of iterations."""
    top = digits[-1]
    dtype = top.var.dtype
    extent = top.unit * top.extent
    fused = Var("fused", dtype)
    of_fused = _OfFused(fused, digits)
    ranges = {v: d for v, d in iterators.items() if all(v is not d.var for d in digits)}
    ranges[fused] = Range.from_min_extent(
        const(0, dtype), const(extent if most is None else min(extent, most), dtype)
    )
    return FusedLoops([of_fused(index) for index in indices], ranges, of_fused(predicate))


def _digits_of_sum(condition: Expr, iterators: Mapping[Var, Range]) -> list[_Digit] | None:
    """The digits of a sum that a condition bounds, the lowest first; None if it is none."""
    if not isinstance(condition, LT) or not isinstance(condition.b, IntImm):
        return None
    terms: Terms = {}
    if collect(condition.a, 1, terms):
        return None
    if not all(isinstance(term, Var) and term in iterators for term in terms):
        return None
    ordered = sorted(terms, key=lambda term: -terms[term])
    digits = _digits_in_order({term: iterators[term] for term in ordered})
    if digits is None or any(digit.unit != terms[digit.var] for digit in digits):
        return None
    return digits


def _digits_in_order(iterators: Mapping[Var, Range]) -> list[_Digit] | None:
    """Iterators as digits, the lowest first, which is the innermost; None if they cannot be."""
    found: list[_Digit] = []
    unit = 1
    for var, domain in reversed([*iterators.items()]):
        extent = const_int_value(domain.extent)
        if extent is None or not is_const_int(domain.min, 0):
            return None
        found.append(_Digit(var, unit, extent))
        unit *= extent
    return found or None


class _OfFused(Rewriter):
    """Rewrites expressions of digits as expressions of their number.

    Args:
        fused: the number.
        digits: the lowest first.
    """

    def __init__(self, fused: Var, digits: Sequence[_Digit]) -> None:
        self._fused, self._digits = fused, digits

    def Var(self, var: Var) -> Expr:
        for digit in self._digits:
            if digit.var is var:
                value = self._from(digit.unit)
                return value if digit is self._digits[-1] else value % digit.extent
        return var

    def Add(self, total: Add) -> Expr:
        unit = self._unit_of(total)
        return total.map_children(self) if unit is None else self._from(unit)

    def FloorMod(self, remainder: FloorMod) -> Expr:
        unit = self._unit_of(remainder.a, const_int_value(remainder.b))
        return remainder.map_children(self) if unit is None else self._from(unit) % remainder.b

    def _from(self, unit: int) -> Expr:
        """The number without the digits below `unit`."""
        return self._fused if unit == 1 else self._fused // unit

    def _unit_of(self, expr: Expr, modulus: int | None = None) -> int | None:
        """The digit from which on the number is a sum, or leaves the same remainder, if any."""
        terms: Terms = {}
        if collect(expr, 1, terms):
            return None
        for lowest in self._digits:
            rest = dict(terms)
            for digit in self._digits:
                if digit.unit >= lowest.unit:
                    rest[digit.var] = rest.get(digit.var, 0) - digit.unit // lowest.unit
            if not any(factor % modulus if modulus else factor for factor in rest.values()):
                return lowest.unit
        return None
