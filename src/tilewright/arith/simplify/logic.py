"""Boolean operators, choices (`Select`, `min`, `max`), and scopes in which a condition holds."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import gcd
from typing import Any

from tilewright.arith.bounds import DATA, PARTIAL, bounds_of, effects_of
from tilewright.arith.facts import UNBOUNDED, Facts, conjuncts
from tilewright.arith.linear import Terms
from tilewright.arith.simplify.compare import difference, difference_bounds, known_at_least
from tilewright.arith.simplify.rules import Rule, RuleTable
from tilewright.arith.simplify.simplifier import Simplifier
from tilewright.arith.simplify.vector import simplify_vector
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    NEGATED,
    And,
    Broadcast,
    Call,
    Expr,
    FloorMod,
    IntImm,
    Max,
    Min,
    Not,
    Or,
    Select,
)
from tilewright.ir.folding import fold_constants

_INEQUALITIES = frozenset({LT, LE, GT, GE, EQ})


@contextmanager
def assuming(s: Simplifier, condition: Expr) -> Generator[None]:
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


RULES = [
    Rule("x and x", "x"),
    Rule("x or x", "x"),
    Rule("(x and y) and x", "x and y"),
    Rule("(x and y) and y", "x and y"),
    Rule("(x or y) or x", "x or y"),
    Rule("(x or y) or y", "x or y"),
    Rule("x and (x or y)", "x"),
    Rule("x or (x and y)", "x"),
    Rule("x and not x", "False"),
    Rule("x or not x", "True"),
    Rule("x < c1 and x < c2", "x < (c1 if c1 < c2 else c2)"),
    Rule("x <= c1 and x <= c2", "x <= (c1 if c1 < c2 else c2)"),
    Rule("x < c1 or x < c2", "x < (c1 if c1 > c2 else c2)"),
    Rule("x <= c1 or x <= c2", "x <= (c1 if c1 > c2 else c2)"),
    Rule("x if p else x", "x"),
    Rule("(x if p else y) if p else z", "x if p else z"),
    Rule("x if p else (y if p else z)", "x if p else z"),
    Rule("min(min(x, c1), c2)", "min(x, c1 if c1 < c2 else c2)"),
    Rule("max(max(x, c1), c2)", "max(x, c1 if c1 > c2 else c2)"),
    Rule("min(min(x, y), x)", "min(x, y)"),
    Rule("max(max(x, y), x)", "max(x, y)"),
    Rule("min(max(x, y), x)", "x"),
    Rule("max(min(x, y), x)", "x"),
    Rule("min(max(x, c1), c2)", "c2", "c2 <= c1"),
    Rule("max(min(x, c1), c2)", "c2", "c2 >= c1"),
    Rule("min(max(x, y), max(x, z))", "max(min(y, z), x)"),
    Rule("max(min(x, y), min(x, z))", "min(max(y, z), x)"),
    Rule("min(max(x, y), min(x, y))", "min(x, y)"),
    Rule("max(min(x, y), max(x, y))", "max(x, y)"),
]
_TABLE = RuleTable(RULES)


def simplify_and(s: Simplifier, expr: Any) -> Expr:
    """An `And` node."""
    return _both(s, And, expr)


def simplify_or(s: Simplifier, expr: Any) -> Expr:
    """An `Or` node."""
    return _both(s, Or, expr)


def _both(s: Simplifier, kind: type[Any], expr: Any) -> Expr:
    a = s(expr.a)
    if expr.dtype.lanes != 1:
        return combine(s, kind, a, s(expr.b))
    if a.__class__ is IntImm and bool(a.value) == (kind is Or):  # type: ignore[attr-defined]
        return a
    with assuming(s, a if kind is And else negation(s, a)):
        b = s(expr.b)
    return combine(s, kind, a, b)


def combine(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    """``a and b`` or ``a or b`` of simplified operands."""
    if a.dtype.lanes != 1:
        return simplify_vector(s, kind, a, b)
    decisive = kind is Or
    if a.__class__ is IntImm:
        return a if bool(a.value) == decisive else b  # type: ignore[attr-defined]
    if b.__class__ is IntImm:
        if bool(b.value) != decisive:  # type: ignore[attr-defined]
            return a
        if s.total(a):
            return b
    found = _TABLE.apply(s, kind, a, b)
    return s.make(kind, a, b) if found is None else found


def negation(s: Simplifier, a: Any) -> Expr:
    """``not a`` of a simplified operand."""
    if a.__class__ is IntImm:
        return s.constant(1 - a.value, BOOL)
    if a.__class__ is Not:
        return a.a
    if a.__class__ is Broadcast:
        return s.intern(Broadcast(negation(s, a.value), a.lanes))
    opposite = NEGATED.get(a.__class__)
    if opposite is not None and (a.a.dtype.is_integral or a.__class__ in (EQ, NE)):
        return s.make(opposite, a.a, a.b)
    return s.intern(Not(a))


Simplifier.handlers[And] = simplify_and
Simplifier.handlers[Or] = simplify_or
Simplifier.handlers[Not] = lambda s, expr: negation(s, s(expr.a))
Simplifier.constructors[Not] = negation
Simplifier.constructors[And] = lambda s, a, b: combine(s, And, a, b)
Simplifier.constructors[Or] = lambda s, a, b: combine(s, Or, a, b)


def simplify_select(s: Simplifier, expr: Any) -> Expr:
    """A `Select` node."""
    return selection(s, s(expr.condition), s(expr.true_value), s(expr.false_value))


def selection(s: Simplifier, condition: Any, a: Expr, b: Expr) -> Expr:
    """``Select(condition, a, b)`` of simplified parts."""
    lanes = a.dtype.lanes
    if condition.__class__ is Broadcast:
        condition = condition.value
        if condition.__class__ is not IntImm:
            condition = s.intern(Broadcast(condition, lanes))
    if condition.__class__ is IntImm:
        chosen, other = (a, b) if condition.value else (b, a)
        if s.total(other):
            return chosen
        if lanes != 1:
            condition = s.intern(Broadcast(condition, lanes))
    if condition.__class__ is Not:
        return selection(s, condition.a, b, a)
    found = _TABLE.apply(s, Select, condition, a, b)
    return s.intern(Select(condition, a, b)) if found is None else found


def simplify_call(s: Simplifier, expr: Any) -> Expr:
    """A `Call` node; only `if_then_else` has rules."""
    if getattr(expr.op, "name", None) != "tir.if_then_else":
        return s.intern(expr.map_children(s.child))
    condition = s(expr.args[0])
    if condition.__class__ is IntImm:
        return s(expr.args[1] if condition.value else expr.args[2])  # type: ignore[attr-defined]
    with assuming(s, condition):
        a = s(expr.args[1])
    with assuming(s, negation(s, condition)):
        b = s(expr.args[2])
    if a is b and s.total(condition):
        return a
    arguments = (condition, a, b)
    if all(new is old for new, old in zip(arguments, expr.args, strict=True)):
        return s.intern(expr)
    return s.intern(Call(expr.dtype, expr.op, arguments))


Simplifier.handlers[Select] = simplify_select
Simplifier.constructors[Select] = selection
Simplifier.handlers[Call] = simplify_call


def minimum(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``min(a, b)`` of simplified operands."""
    return _choose(s, Min, a, b)


def maximum(s: Simplifier, a: Expr, b: Expr) -> Expr:
    """``max(a, b)`` of simplified operands."""
    return _choose(s, Max, a, b)


def _choose(s: Simplifier, kind: type[Any], a: Expr, b: Expr) -> Expr:
    dtype = a.dtype
    if a is b and s.total(a):
        return a
    if not dtype.is_integral or dtype.lanes != 1:
        return simplify_vector(s, kind, a, b)
    folded = fold_constants(kind, a, b)
    if folded is not None:
        return s(folded)
    low, high = difference_bounds(s, a, b)
    if (high <= 0 or known_at_least(s, b, a)) and s.total(b if kind is Min else a):
        return a if kind is Min else b
    if (low >= 0 or known_at_least(s, a, b)) and s.total(a if kind is Min else b):
        return b if kind is Min else a
    found = _TABLE.apply(s, kind, a, b)
    return s.make(kind, a, b) if found is None else found


Simplifier.handlers[Min] = lambda s, expr: minimum(s, s(expr.a), s(expr.b))
Simplifier.handlers[Max] = lambda s, expr: maximum(s, s(expr.a), s(expr.b))
Simplifier.constructors[Min] = minimum
Simplifier.constructors[Max] = maximum
