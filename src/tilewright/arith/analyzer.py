"""`Analyzer`: what a pass asks about integer expressions."""

from __future__ import annotations

import functools
import math
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, cast

from tilewright.arith.bounds import DATA, IMPURE, PARTIAL, bounds_of, effects_of
from tilewright.arith.facts import SymbolicRange
from tilewright.arith.linear import Terms, collect, constant_difference
from tilewright.arith.modular import modular_of
from tilewright.arith.simplify import Simplifier
from tilewright.arith.simplify.add_sub import sum_of
from tilewright.arith.simplify.compare import (
    decide,
    difference,
    known_at_least,
    known_by_bounds,
)
from tilewright.arith.simplify.logic import assume_for_good, assuming
from tilewright.arith.simplify.symbolic import exact_quotient
from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import INT32, INT64, DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Call,
    CompareExpr,
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
    Or,
    SizeVar,
    Sub,
    Var,
)
from tilewright.ir.node import Node
from tilewright.ir.recursion import deep_recursion


class RangeLike(Protocol):
    """The integers from `min`, `extent` of them."""

    @property
    def min(self) -> Expr: ...
    @property
    def extent(self) -> Expr: ...


class ConstIntBound(NamedTuple):
    """The smallest and largest value, ``-inf`` or ``inf`` where nothing is known."""

    min_value: int | float
    max_value: int | float


class ModularSet(NamedTuple):
    """The value is ``base`` plus a multiple of ``coeff``; with coeff 0 it is ``base``."""

    coeff: int
    base: int


class Analyzer:
    """Simplifies and proves under what is known about variables.

    Results are remembered per node, so asking again about an expression of which a part changed
    costs only that part. Arithmetic on variables of int32 and int64 is taken not to overflow;
    `tilewright.arith.bounds` has the details.
    """

    def __init__(self) -> None:
        self._simplifier = Simplifier()
        self._answers: dict[Expr, tuple[Expr, Expr]] = {}

    def copy(self) -> Analyzer:
        """Another analyzer that knows the same; what is bound in one is not bound in the other."""
        copy = Analyzer.__new__(Analyzer)
        copy._simplifier = self._simplifier.copy()
        copy._answers = {}
        return copy

    # --- facts ------------------------------------------------------------------------------

    def bind(self, var: Var, value: RangeLike | Expr | int) -> None:
        """Make known that `var` lies in a range, or stands for an expression.

        A variable that stands for an expression is replaced by it in results, unless the
        expression reads memory or may fail: then only its bounds are used.

        Args:
            var: the variable.
            value: an object with `min` and `extent`, or an expression or number.
        """
        if not isinstance(value, Expr) and hasattr(value, "extent"):
            self.bind_range(var, value.min, value.extent)  # type: ignore[union-attr]
            return
        simplifier = self._simplifier
        expr = simplifier(as_expr(value))
        if expr.dtype is not var.dtype:
            raise DTypeError(
                f"bind: {var.name} has dtype {var.dtype!s}, the value {expr!r} has {expr.dtype!s}"
            )
        facts = simplifier.facts
        if effects_of(facts, expr) & (DATA | PARTIAL | IMPURE):
            facts.data.add(var)
            if expr.dtype.is_integral:
                facts.ranges[var] = bounds_of(facts, expr)
        else:
            facts.values[var] = expr
        facts.forget()

    def bind_range(self, var: Var, minimum: Expr | int, extent: Expr | int) -> None:
        """Make known that ``minimum <= var < minimum + extent``; the ends may be symbolic.

        A variable that can have one value only is replaced by it in results.
        """
        simplifier = self._simplifier
        facts = simplifier.facts
        low, size = as_expr(minimum, var.dtype), as_expr(extent, var.dtype)
        if low.__class__ is not IntImm or size.__class__ is not IntImm:
            low, size = simplifier(low), simplifier(size)
        if low.__class__ is IntImm and size.__class__ is IntImm:
            self._bind_constants(var, low, size)
            return
        last = simplifier(low + size - 1)
        least, most = bounds_of(facts, low)[0], bounds_of(facts, last)[1]
        interval, known = (least, max(least, most)), SymbolicRange(low, last, size)
        if facts.ranges.get(var) == interval and _same_range(facts.symbolic.get(var), known):
            return
        stale = var in facts.ranges or var in facts.values or var in facts.unknown
        facts.ranges[var] = interval
        facts.symbolic[var] = known
        single = size.__class__ is IntImm and size.value == 1  # type: ignore[attr-defined]
        if single and not effects_of(facts, low) & (DATA | PARTIAL | IMPURE):
            facts.values[var] = low
            facts.forget()
        elif facts.values.pop(var, None) is not None or stale:
            facts.forget()

    def update(self, var: Var, info: ConstIntBound, override: bool = False) -> None:
        """Make known the smallest and largest value of a variable.

        Args:
            var: the variable.
            info: its bounds, both included; they may be infinite.
            override: whether they replace what was known; otherwise both hold.

        Raises:
            ArgumentError: for something else than bounds, or bounds that leave no value.
        """
        if not isinstance(info, ConstIntBound):
            raise ArgumentError(f"Analyzer.update: expected a ConstIntBound, got {info!r}")
        least, most = info
        facts = self._simplifier.facts
        if not override:
            known = self.const_int_bound(var)
            least, most = max(least, known.min_value), min(most, known.max_value)
        if least > most:
            raise ArgumentError(
                f"Analyzer.update: {var.name} has no value: its bounds are {least} and {most}"
            )
        facts.symbolic.pop(var, None)
        facts.values.pop(var, None)
        facts.ranges[var] = (cast("int", least), cast("int", most))  # they may be infinite
        facts.forget()

    def _bind_constants(self, var: Var, low: Any, size: Any) -> None:
        """`bind_range` with numbers as ends, by far the most common case."""
        simplifier = self._simplifier
        facts = simplifier.facts
        least = low.value
        last = least + size.value - 1
        if last < least:
            last = least
        elif last > var.dtype.max_int:
            last = max(least, var.dtype.max_int)
        interval = (least, last)
        ranges = facts.ranges
        if var in ranges or var in facts.values or var in facts.unknown:
            if ranges.get(var) == interval and var not in facts.symbolic:
                return
            facts.symbolic.pop(var, None)
            facts.values.pop(var, None)
            facts.forget()
        ranges[var] = interval
        if size.value == 1:
            facts.values[var] = simplifier(low)
            facts.forget()

    @contextmanager
    def constraint(self, condition: Expr | bool) -> Generator[None]:
        """Within the scope, take `condition` to hold.

        Comparisons of integers are used, alone and joined by `And`, but not those that read memory.
        """
        with assuming(self._simplifier, self._simplifier(as_expr(condition))):
            yield

    constraint_scope = constraint

    def assume(self, condition: Expr | bool) -> None:
        """Take `condition` to hold from now on; what is used of it is as for `constraint`."""
        assume_for_good(self._simplifier, self._simplifier(as_expr(condition)))

    # --- answers ----------------------------------------------------------------------------

    @deep_recursion
    def simplify(self, expr: Expr | int) -> Expr:
        """An expression equal to `expr`, as a person would write it; `expr` itself if it is so."""
        source = as_expr(expr)
        found = self._simplifier(source)
        if found is source:
            return source
        # Remembered here, since inside of the simplifier equal nodes must be one object.
        answered = self._answers.get(source)
        if answered is None or answered[0] is not found:
            answer = source if _same(found, source) else found
            answered = self._answers[source] = (found, answer)
        return answered[1]

    rewrite_simplify = canonical_simplify = simplify  # one simplifier does what TVM has two for

    @deep_recursion
    def simplified_sum(self, terms: Terms, constant: int, dtype: DType) -> Expr:
        """``sum(factor * term) + constant`` of scalar integers, simplified.

        Args:
            terms: the factor of each term.
            constant: the constant.
            dtype: of the terms.
        """
        simplifier = self._simplifier
        simple: Terms = {}
        offset = constant
        for term, factor in terms.items():
            offset += collect(simplifier(term), factor, simple)
        found = sum_of(simplifier, simple, offset, dtype)
        if found is not None:
            return found
        # Numbers that the dtype does not hold wrap around, as arithmetic on it does.
        result = simplifier.constant(constant, dtype)
        for term, factor in terms.items():
            result = result + term * simplifier.constant(factor, dtype)
        return self.simplify(result)

    def plus(self, expr: Expr, offset: int) -> Expr:
        """``expr + offset``, simplified; a scalar integer."""
        terms: Terms = {}
        constant = collect(expr, 1, terms)
        return self.simplified_sum(terms, constant + offset, expr.dtype)

    def difference(self, a: Expr, b: Expr) -> Expr:
        """``a - b``, simplified; scalar integers of one dtype."""
        known = constant_difference(a, b)
        return self.simplify(a - b) if known is None else self._simplifier.constant(known, a.dtype)

    def can_prove_at_most(self, a: Expr, b: Expr) -> bool:
        """Whether ``a <= b`` is known."""
        known = constant_difference(a, b)
        return self.can_prove(a <= b) if known is None else known <= 0

    @deep_recursion
    def can_prove(self, condition: Expr | bool) -> bool:
        """Whether `condition` is known to hold; False says nothing about the opposite."""
        expr = as_expr(condition)
        if isinstance(expr, IntImm):
            return expr.value != 0
        if isinstance(expr, CompareExpr) and known_by_bounds(self._simplifier, expr):
            return True
        if isinstance(expr, And):
            return self.can_prove(expr.a) and self.can_prove(expr.b)
        if isinstance(expr, Or) and (self.can_prove(expr.a) or self.can_prove(expr.b)):
            return True
        if isinstance(expr, Call) and getattr(expr.op, "name", None) == "tir.likely":
            return self.can_prove(expr.args[0])
        found = self._simplifier(expr)
        if isinstance(found, CompareExpr) and found.a.dtype.code in ("int", "uint"):
            if found.a.dtype.lanes != 1:
                return False
            # Not decided so far perhaps only because evaluating it may fail.
            form = difference(self._simplifier, found.a, found.b)
            return form is not None and decide(self._simplifier, type(found), *form) is True
        return isinstance(found, IntImm) and found.value != 0

    @deep_recursion
    def can_prove_equal(self, a: Expr | int, b: Expr | int) -> bool:
        """Whether ``a == b`` is known."""
        if a is b:
            return True
        condition = as_expr(a) == b if isinstance(a, Expr) else as_expr(b) == a
        return self.can_prove(condition)

    def can_prove_greater_equal(self, expr: Expr | int, bound: int) -> bool:
        """Whether ``expr >= bound`` is known."""
        found = self._simplifier(as_expr(expr))
        return known_at_least(self._simplifier, found, IntImm(found.dtype, bound))

    def can_prove_less(self, expr: Expr | int, bound: int) -> bool:
        """Whether ``expr < bound`` is known."""
        found = self._simplifier(as_expr(expr))
        return known_at_least(self._simplifier, IntImm(found.dtype, bound - 1), found)

    def exact_quotient(self, value: Expr | int, by: Expr | int) -> Expr | None:
        """``value / by`` if `by` is a factor of every term of `value`, else None.

        `by` is taken not to be 0, as the extent of a loop that runs.
        """
        simplifier = self._simplifier
        return exact_quotient(simplifier, simplifier(as_expr(value)), simplifier(as_expr(by)))

    @deep_recursion
    def const_int_bound(self, expr: Expr | int) -> ConstIntBound:
        """Constants between which `expr` (integer) lies."""
        found = self._simplifier(as_expr(expr))
        low, high = bounds_of(self._simplifier.facts, found)
        dtype = found.dtype.element
        if dtype is not INT32 and dtype is not INT64:
            return ConstIntBound(low, high)
        return ConstIntBound(
            low if low > dtype.min_int else -math.inf, high if high < dtype.max_int else math.inf
        )

    @deep_recursion
    def modular_set(self, expr: Expr | int) -> ModularSet:
        """What is known about the remainder of `expr`, as for alignment."""
        return ModularSet(*modular_of(self._simplifier.facts, self._simplifier(as_expr(expr))))


def _same_range(a: SymbolicRange | None, b: SymbolicRange | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.minimum is b.minimum and a.maximum is b.maximum


_BY_IDENTITY = frozenset({Var, SizeVar, Let})
_BINARY = frozenset(
    {Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, And, Or, EQ, NE, LT, LE, GT, GE}
)


def _same(a: Any, b: Any) -> bool:
    """Whether two expressions are the same tree; variables and what is opaque by identity."""
    waiting = [(a, b)]
    seen: set[tuple[Any, Any]] = set()
    while waiting:
        pair = waiting.pop()
        a, b = pair
        if a is b or pair in seen:
            continue
        kind = a.__class__
        if kind is not b.__class__ or kind in _BY_IDENTITY:
            return False
        if kind is IntImm:
            if a.value != b.value or a.dtype is not b.dtype:
                return False
            continue
        seen.add(pair)
        if kind in _BINARY:
            waiting += ((a.b, b.b), (a.a, b.a))
            continue
        children, others = a.children(), b.children()
        if not children or len(children) != len(others) or a.dtype is not b.dtype:
            return False
        if not _same_plain_fields(a, b):
            return False
        waiting += zip(children, others, strict=True)
    return True


def _same_plain_fields(a: Node, b: Node) -> bool:
    for name in _plain_fields(a.__class__):
        x, y = getattr(a, name), getattr(b, name)
        if x is not y and (name != "lanes" or x != y):
            return False
    return True


@functools.cache
def _plain_fields(kind: type[Node]) -> tuple[str, ...]:
    names = ("op", "buffer", "producer", "lanes", "predicate")
    return tuple(name for name in names if hasattr(kind, name))
