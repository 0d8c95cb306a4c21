"""Symbolic intervals: between which expressions a value lies while some variables range.

For the region of a buffer that a loop body accesses: `i * 16 + j` lies between `i * 16` and
`i * 16 + 15` while `j` ranges over [0, 16), whatever `i` is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tilewright.arith.analyzer import Analyzer, RangeLike
from tilewright.arith.linear import LINEAR_NODES, Terms, collect, mentions
from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import (
    Add,
    Broadcast,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Ramp,
    Select,
    Sub,
    Var,
)


class IntervalSet(NamedTuple):
    """The integers from `min_value` to `max_value`, both included; None is unbounded."""

    min_value: Expr | None
    max_value: Expr | None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is known."""
        return self.min_value is None and self.max_value is None

    @property
    def is_point(self) -> bool:
        """Whether there is exactly one value, and it is known as an expression."""
        return self.min_value is not None and self.min_value is self.max_value

    @property
    def extent(self) -> Expr | None:
        """How many integers there are, or None if that is unbounded."""
        if self.min_value is None or self.max_value is None:
            return None
        return self.max_value - self.min_value + 1


EVERYTHING = IntervalSet(None, None)


def constant_range(low: Expr, extent: Expr) -> IntervalSet | None:
    """The interval of `extent` values from `low` on, if both are numbers."""
    if not isinstance(low, IntImm) or not isinstance(extent, IntImm) or extent.value < 1:
        return None
    last = low.value + extent.value - 1
    return IntervalSet(low, IntImm(low.dtype, last)) if last <= low.dtype.max_int else None


def interval_of(
    expr: Expr,
    domains: Mapping[Var, RangeLike | IntervalSet],
    analyzer: Analyzer | None = None,
) -> IntervalSet:
    """Between which expressions `expr` lies while the variables in `domains` range.

    Args:
        expr: an integer expression; lanes of a vector count as values.
        domains: the variables that range, each over a range or an interval set; ends may mention
            any variable that is not in `domains`.
        analyzer: what is known about the other variables.

    Returns:
        Simplified ends, free of the variables in `domains`; exact for sums and multiples in which
        each variable occurs once, otherwise possibly too wide, never too narrow.
    """
    return IntervalEvaluator(domains, analyzer or Analyzer()).evaluate(expr)


def union(sets: Iterable[IntervalSet], analyzer: Analyzer | None = None) -> IntervalSet:
    """The smallest interval that is known to contain all of `sets`, which are not none."""
    simplify = (analyzer or Analyzer()).simplify
    first, *others = sets
    low, high = first
    for other in others:
        low = None if low is None or other[0] is None else simplify(minimum(low, other[0]))
        high = None if high is None or other[1] is None else simplify(maximum(high, other[1]))
    return IntervalSet(low, high)


class IntervalEvaluator:
    """`interval_of` for several expressions over the same domains."""

    def __init__(self, domains: Mapping[Var, RangeLike | IntervalSet], analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._simplify = analyzer.simplify
        self._domains: dict[Any, IntervalSet] = {}
        for var, domain in domains.items():
            if not isinstance(domain, IntervalSet):
                domain = self._interval(as_expr(domain.min), domain.extent)
            self._domains[var] = domain
        self._memo: dict[Expr, IntervalSet] = {}

    def _interval(self, low: Expr, extent: Expr) -> IntervalSet:
        return constant_range(low, extent) or IntervalSet(
            self._simplify(low), self._simplify(low + extent - 1)
        )

    def evaluate(self, expr: Expr) -> IntervalSet:
        found = self._memo.get(expr)
        if found is None:
            found = self._memo[expr] = self._evaluate(expr)
        return found

    def _evaluate(self, expr: Any) -> IntervalSet:
        domain = self._domains.get(expr)
        if domain is not None:
            return domain
        if expr.__class__ is Ramp:
            return self._ramp(expr)
        if expr.__class__ is Broadcast:
            return self.evaluate(expr.value)
        if not mentions(expr, self._domains):
            point = self._simplify(expr)
            return IntervalSet(point, point)
        rule = _RULES.get(expr.__class__)
        if rule is None:
            return self._by_constants(expr)
        linear = self._linear(expr) if expr.__class__ in LINEAR_NODES else None
        return rule(self, expr) if linear is None else linear

    def _linear(self, expr: Expr) -> IntervalSet | None:
        """A sum of multiples of variables between numbers, and of what does not range."""
        dtype = expr.dtype
        if not dtype.is_int or dtype.lanes != 1:
            return None
        terms: Terms = {}
        low = high = collect(expr, 1, terms)
        rest: Terms = {}
        for term, factor in terms.items():
            domain = self._domains.get(term)
            if domain is None:
                if term.__class__ is not Var and mentions(term, self._domains):
                    return None
                rest[term] = factor
                continue
            first, last = domain
            if not isinstance(first, IntImm) or not isinstance(last, IntImm):
                return None
            if factor < 0:
                first, last = last, first
            low, high = low + first.value * factor, high + last.value * factor
        if low < dtype.min_int or high > dtype.max_int:
            return None
        if not rest:
            return IntervalSet(IntImm(dtype, low), IntImm(dtype, high))
        total = self._analyzer.simplified_sum
        return IntervalSet(total(rest, low, dtype), total(rest, high, dtype))

    def _by_constants(self, expr: Expr) -> IntervalSet:
        """Whatever constant bounds say about an expression without a rule."""
        if not expr.dtype.is_integral:
            return EVERYTHING
        dtype = expr.dtype.element
        # A bound near the end of the type says nothing, and arithmetic on it would wrap around.
        limit = 1 << (dtype.bits - 2) if dtype.bits > 8 else dtype.max_int
        low, high = (
            IntImm(dtype, bound) if isinstance(bound, int) and abs(bound) <= limit else None
            for bound in self._analyzer.const_int_bound(expr)
        )
        return IntervalSet(low, high)

    def combine(self, operator: Callable[..., Any], *ends: Expr | None) -> Expr | None:
        """An end of the result, unbounded if any of `ends` is, or if it is out of range."""
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        constants = [end.value for end in known if isinstance(end, IntImm)]
        if len(constants) == len(known):
            # An end may be far from all values, so arithmetic on it wraps where theirs does not.
            dtype, value = known[0].dtype, operator(*constants)
            if isinstance(value, int):
                inside = dtype.min_int <= value <= dtype.max_int
                return IntImm(dtype, value) if inside else None
        return self._simplify(operator(*known))

    def add(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        return IntervalSet(
            self.combine(lambda x, y: x + y, a[0], b[0]),
            self.combine(lambda x, y: x + y, a[1], b[1]),
        )

    def subtract(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        return IntervalSet(
            self.combine(lambda x, y: x - y, a[0], b[1]),
            self.combine(lambda x, y: x - y, a[1], b[0]),
        )

    def multiply(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        if not b.is_point:
            a, b = b, a
        factor = b.min_value
        if not b.is_point or factor is None:
            return self._by_constants(expr)
        scale = factor.value if isinstance(factor, IntImm) else factor
        low = self.combine(lambda x: x * scale, a[0])
        if a.is_point:
            return IntervalSet(low, low)
        high = self.combine(lambda x: x * scale, a[1])
        if self._analyzer.can_prove(factor >= 0):
            return IntervalSet(low, high)
        if self._analyzer.can_prove(factor <= 0):
            return IntervalSet(high, low)
        return EVERYTHING

    def floordiv(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        divisor = b.min_value
        if not b.is_point or divisor is None or not self._analyzer.can_prove(divisor > 0):
            return self._by_constants(expr)
        by = divisor.value if isinstance(divisor, IntImm) else divisor
        return IntervalSet(
            self.combine(lambda x: x // by, a[0]), self.combine(lambda x: x // by, a[1])
        )

    def floormod(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        divisor = b.min_value
        if not b.is_point or divisor is None or not self._analyzer.can_prove(divisor > 0):
            return self._by_constants(expr)
        low, high = a
        if low is not None and high is not None:
            tile = self._simplify(low // divisor)
            if self._analyzer.can_prove_equal(tile, self._simplify(high // divisor)):
                start = tile * divisor
                return IntervalSet(self._simplify(low - start), self._simplify(high - start))
        return IntervalSet(IntImm(expr.dtype, 0), self._simplify(divisor - 1))

    def minimum(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        high = b[1] if a[1] is None else a[1] if b[1] is None else self.combine(minimum, a[1], b[1])
        return IntervalSet(self.combine(minimum, a[0], b[0]), high)

    def maximum(self, expr: Any) -> IntervalSet:
        a, b = self.evaluate(expr.a), self.evaluate(expr.b)
        low = b[0] if a[0] is None else a[0] if b[0] is None else self.combine(maximum, a[0], b[0])
        return IntervalSet(low, self.combine(maximum, a[1], b[1]))

    def select(self, expr: Any) -> IntervalSet:
        sides = [self.evaluate(side) for side in (expr.true_value, expr.false_value)]
        return union(sides, self._analyzer)

    def cast(self, expr: Any) -> IntervalSet:
        source, target = expr.value.dtype.element, expr.dtype.element
        if not source.is_int or not target.is_int or target.bits < source.bits:
            return self._by_constants(expr)
        a = self.evaluate(expr.value)
        return IntervalSet(
            self.combine(lambda x: cast(target, x), a[0]),
            self.combine(lambda x: cast(target, x), a[1]),
        )

    def call(self, expr: Any) -> IntervalSet:
        if getattr(expr.op, "name", None) != "tir.if_then_else":
            return self._by_constants(expr)
        return union([self.evaluate(side) for side in expr.args[1:]], self._analyzer)

    def _ramp(self, expr: Any) -> IntervalSet:
        """All lanes of a ramp: its base, and its base plus the reach of its stride."""
        if expr.stride.__class__ is not IntImm:
            return EVERYTHING
        base = self.evaluate(expr.base)
        reach = expr.stride.value * (expr.lanes - 1)
        low = self.combine(lambda x: x + min(reach, 0), base[0])
        return IntervalSet(low, self.combine(lambda x: x + max(reach, 0), base[1]))


_RULES: dict[type[Any], Callable[[IntervalEvaluator, Any], IntervalSet]] = {
    Add: IntervalEvaluator.add,
    Sub: IntervalEvaluator.subtract,
    Mul: IntervalEvaluator.multiply,
    FloorDiv: IntervalEvaluator.floordiv,
    FloorMod: IntervalEvaluator.floormod,
    Min: IntervalEvaluator.minimum,
    Max: IntervalEvaluator.maximum,
    Select: IntervalEvaluator.select,
    Cast: IntervalEvaluator.cast,
    Call: IntervalEvaluator.call,
}
