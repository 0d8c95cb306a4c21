"""Constraints: conditions that hold in a part of the program, as bounds of linear forms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd
from typing import Any

from tilewright.arith.bounds import DATA, PARTIAL, bounds_of, effects_of
from tilewright.arith.conditions import conjuncts
from tilewright.arith.facts import UNBOUNDED, Facts
from tilewright.arith.linear import Terms
from tilewright.arith.simplify.compare import difference
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.ir.expr import EQ, GE, GT, LE, LT, Expr, FloorMod, IntImm

_INEQUALITIES = frozenset({LT, LE, GT, GE, EQ})


@contextmanager
def assuming(s: Simplifier, condition: Expr) -> Iterator[None]:
    """Within the scope, the simplified `condition` is taken to hold.

    Conditions on values in memory are not used: the memory may change within the scope.
    """
    outer = s.facts
    useful = [c for c in conjuncts(condition) if _useful(s, c)]
    if not useful:
        yield
        return
    s.facts = outer.inner()
    try:
        for conjunct in useful:
            assume(s, conjunct)
        s.facts.forget()
        yield
    finally:
        s.facts = outer


def assume_for_good(s: Simplifier, condition: Expr) -> None:
    """Take the simplified `condition` to hold from now on."""
    useful = [c for c in conjuncts(condition) if _useful(s, c)]
    for conjunct in useful:
        assume(s, conjunct)
    if useful:
        s.facts.forget()


def _useful(s: Simplifier, condition: Any) -> bool:
    if condition.__class__ not in _INEQUALITIES or condition.a.dtype.lanes != 1:
        return False
    dtype = condition.a.dtype
    if not dtype.is_int and not dtype.is_uint:
        return False
    return not effects_of(s.facts, condition) & (DATA | PARTIAL)


def assume(s: Simplifier, condition: Any) -> None:
    """Add one comparison to the facts."""
    kind, facts = condition.__class__, s.facts
    form = difference(s, condition.a, condition.b)
    if form is None or not form[0]:
        return
    terms, constant = form
    if kind is LT or kind is LE:
        low, high = -UNBOUNDED, -constant - (kind is LT)
    elif kind is GT or kind is GE:
        low, high = -constant + (kind is GT), UNBOUNDED
    else:
        low = high = -constant
        _assume_remainder(facts, condition)
    _bound(s, facts, terms, low, high)


def _bound(s: Simplifier, facts: Facts, terms: Terms, low: int, high: int) -> None:
    """Remember ``low <= terms <= high``, reduced by the common factor."""
    common = gcd(*terms.values())
    low, high = -(-low // common), high // common
    reduced = {term: factor // common for term, factor in terms.items()}
    if len(reduced) == 1:
        ((term, sign),) = reduced.items()
        low, high = (low, high) if sign > 0 else (-high, -low)
        known = bounds_of(facts, term)
        facts.ranges[term] = max(low, known[0]), min(high, known[1])
        return
    key = frozenset(reduced.items())
    known = facts.forms.get(key, (-UNBOUNDED, UNBOUNDED))
    facts.forms[key] = max(low, known[0]), min(high, known[1])


def _assume_remainder(facts: Facts, condition: Any) -> None:
    """``x % c == r`` is a fact about the remainder of ``x``."""
    left, right = condition.a, condition.b
    if left.__class__ is not FloorMod or right.__class__ is not IntImm:
        return
    if left.b.__class__ is IntImm and left.b.value > 0:
        facts.remainders[left.a] = (left.b.value, right.value % left.b.value)
