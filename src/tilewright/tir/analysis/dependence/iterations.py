"""In which loops instances that access one element run in the same iteration, decided without isl.

Tiles usually do not overlap: if both sides access ``A[i_0 * 16 + ...]``, the rest between 0 and 15,
then an element tells in which iteration of `i_0` it is accessed. Nothing more is needed to know
that the order is kept if it is kept within `i_0`. Quotients and remainders of a loop, which stand
for loops that were fused, are digits of it: all of them together tell the iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from tilewright.arith.facts import EVERYTHING, Interval
from tilewright.arith.linear import LinearForm, Terms, linear_form, single
from tilewright.arith.quotients import (
    Digit,
    Quotient,
    digits_of,
    divided,
    divisors_of,
    in_digits,
    remainder,
)
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, IntImm
from tilewright.tir.analysis.dependence.relations import footprint
from tilewright.tir.analysis.dependence.statements import ANYTHING, Memory, Statement
from tilewright.tir.stmt import For

Pair = tuple[Statement, Statement]

Bounds = dict[Any, Interval]
"""The first and the last value of variables of loops."""


def loops_in_step(
    runs: Pair,
    accesses: Pair,
    shared: int,
    *,
    equal: int = 0,
    ignore: Collection[Memory] = (),
) -> int:
    """In how many of the loops around both instances in conflict run in the same iteration.

    The instances are any two that access the same element, one of them writing it. They certainly
    agree in the loops that are counted, from the outermost on; in the next one they may differ.

    Args:
        runs: two statements of one program, or one twice.
        accesses: the statements that tell which elements the instances access: the same ones, or
            those of another program whose instances they run.
        shared: how many loops are around both.
        equal: in how many of these loops only instances in the same iteration are of interest.
        ignore: memory that does not count.
    """
    found = shared
    for memory, count in steps_by_memory(runs, accesses, shared, equal=equal):
        if memory not in ignore:
            found = min(found, count)
            if found <= equal:
                break
    return found


def steps_by_memory(
    runs: Pair, accesses: Pair, shared: int, *, equal: int = 0
) -> Iterator[tuple[Memory, int]]:
    """`loops_in_step` for each way to access the same memory."""
    outer: Bounds = {loop.loop_var: _bounds(loop) for loop in runs[0].loops[:shared]}
    same = {var for n, (var, (low, high)) in enumerate(outer.items()) if n < equal or low == high}
    first, second = map(_Indices, runs, accesses)
    for a in footprint(accesses[0]).accesses:
        for b in footprint(accesses[1]).accesses:
            meet = a.memory is b.memory or a.memory is ANYTHING or b.memory is ANYTHING
            if not meet or not (a.is_write or b.is_write):
                continue
            known = _Known(outer, same)
            if a.buffer is b.buffer and a.indices is not None and b.indices is not None:
                for left, right in zip(a.indices, b.indices, strict=True):
                    known.note(first.of(left), second.of(right))
            yield a.memory if a.memory is b.memory else ANYTHING, known.count()


def _bounds(loop: For) -> Interval:
    low, extent = loop.min, loop.extent
    if not isinstance(low, IntImm) or not isinstance(extent, IntImm):
        return EVERYTHING
    return low.value, low.value + extent.value - 1


class _Known:
    """The loops and digits that have the same value for both sides.

    Args:
        outer: the loops around both sides, from the outermost on.
        same: those of them that certainly have.
    """

    def __init__(self, outer: Bounds, same: Collection[Expr]) -> None:
        self._outer = outer
        self._loops: set[Any] = set(same)
        self._digits: set[Digit] = set()

    def _has(self, term: Any) -> bool:
        if isinstance(term, Digit):
            return term in self._digits or term.source in self._loops
        return term in self._loops

    def note(self, left: _Index | None, right: _Index | None) -> None:
        """Add what follows from an index that is equal on both sides.

        The multiples of what is around both differ by no more than the rests do. So values do not
        differ if their stride is larger than all that is below it.
        """
        if left is None or right is None:
            return
        divisors = divisors_of((left.form.terms, right.form.terms))
        one, other = left.in_digits(divisors), right.in_digits(divisors)
        if one is None or other is None:
            return
        a, b = one.split(self._outer), other.split(self._outer)
        if a is None or b is None or a.outer != b.outer:
            return
        below = max(abs(b.rest[1] - a.rest[0]), abs(a.rest[1] - b.rest[0]))
        told: list[Any] = []
        for term, factor in sorted(a.outer.items(), key=lambda item: abs(item[1])):
            if self._has(term):
                continue
            if abs(factor) > below:
                told.append(term)
            else:
                told.clear()
            low, high = one.interval(term)
            below += abs(factor) * (high - low)
        for term in told:
            (self._digits if isinstance(term, Digit) else self._loops).add(term)

    def count(self) -> int:
        """How many loops, from the outermost on, have the same value."""
        count = 0
        for var, ends in self._outer.items():
            if var not in self._loops and not self._is_told(var, ends):
                break
            count += 1
        return count

    def _is_told(self, var: Any, ends: Interval) -> bool:
        """Whether the known digits of a loop make up its value."""
        extents = {digit.unit: digit.extent for digit in self._digits if digit.source is var}
        reached = 1
        while extents.get(reached, 1) > 1 and reached <= ends[1]:
            reached *= extents[reached]
        return reached > ends[1]


class _Sides(NamedTuple):
    """An index as multiples of what is around both sides, and where the rest of it lies."""

    outer: Terms
    rest: Interval


class _Index(NamedTuple):
    """An index as a linear form of variables of loops with these bounds."""

    form: LinearForm
    bounds: Bounds

    def interval(self, term: Any) -> Interval:
        """Where a term lies."""
        return _interval(term, self.bounds)

    def in_digits(self, divisors: Mapping[Any, Collection[int]]) -> _Index | None:
        """The index with digits of the loops that are divided by these divisors."""
        digits = {
            loop: digits_of(loop, self.bounds[loop][1] + 1, by)
            for loop, by in divisors.items()
            if loop in self.bounds and self.bounds[loop][0] == 0
        }
        form = in_digits(self.form, digits)
        return None if form is None else _Index(form, self.bounds)

    def split(self, outer: Bounds) -> _Sides | None:
        """The index in two; None if it is not a sum of multiples of loops in `outer` and a rest."""
        around: Terms = {}
        rest: Terms = {}
        for term, factor in self.form.terms.items():
            source = term.source if isinstance(term, Digit) else term
            if source in outer:
                around[term] = factor
            elif source.__class__ is Quotient and _mentions(source, outer):
                return None
            else:
                rest[term] = factor
        return _Sides(around, LinearForm(rest, self.form.constant).bounds(self.interval))


def _interval(term: Any, bounds: Bounds) -> Interval:
    if isinstance(term, Digit):
        return 0, term.extent - 1
    return (term.low, term.high) if term.__class__ is Quotient else bounds[term]


def _mentions(quotient: Quotient, outer: Bounds) -> bool:
    return any(
        _mentions(term, outer) if term.__class__ is Quotient else term in outer
        for term in quotient.form.terms
    )


class _Indices:
    """Indices of accesses as linear forms of the loops around a statement.

    `runs` is the statement, `accesses` the one whose iterators the indices mention.
    """

    def __init__(self, runs: Statement, accesses: Statement) -> None:
        self._bounds, values = _values_of_iterators(runs)
        named = zip(accesses.iterators, values, strict=True)
        self._values = {var: form for var, form in named if form is not None}
        self._known: dict[Expr, _Index | None] = {}

    def of(self, index: Expr) -> _Index | None:
        """An index as a form, None if it has none."""
        if index not in self._known:
            form = _form(index, self._values, self._bounds)
            self._known[index] = None if form is None else _Index(form, self._bounds)
        return self._known[index]


def _values_of_iterators(statement: Statement) -> tuple[Bounds, list[LinearForm | None]]:
    """The bounds of the loops around a statement, and each iterator as a form of them."""
    found = statement.facts.get("values of iterators")
    if found is None:
        bounds: Bounds = {loop.loop_var: _bounds(loop) for loop in statement.loops}
        known = {var: single(var) for var in bounds}
        values: list[LinearForm | None] = []
        for var, value in zip(statement.iterators, statement.bindings, strict=True):
            form = _form(value, known, bounds)
            values.append(form)
            if form is not None:
                known[var] = form
        found = statement.facts["values of iterators"] = bounds, values
    return found


class _NotLinearError(Exception):
    """An expression with a part that is not linear in loops."""


def _form(expr: Expr, known: Mapping[Any, LinearForm], bounds: Bounds) -> LinearForm | None:
    """An expression as a linear form of loops and of quotients of them, None if it has none."""

    def divide(part: Any, scale: int, terms: Terms) -> int:
        kind = part.__class__
        if kind is not FloorDiv and kind is not FloorMod:
            raise _NotLinearError
        if not isinstance(part.b, IntImm) or part.b.value < 1:
            raise _NotLinearError
        inner = linear_form(part.a, divide, known)
        form = (divided if kind is FloorDiv else remainder)(inner, part.b.value, interval)
        return form.add_to(terms, scale)

    def interval(term: Any) -> Interval:
        return _interval(term, bounds)

    if not expr.dtype.is_index:
        return None
    try:
        return linear_form(expr, divide, known)
    except _NotLinearError:
        return None
