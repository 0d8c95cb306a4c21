"""In which loops instances that access one element run in the same iteration, decided without isl.

Tiles usually do not overlap: if both sides access ``A[i_0 * 16 + ...]``, the rest between 0 and 15,
then an element tells in which iteration of `i_0` it is accessed. Nothing more is needed to know
that the order is kept if it is kept within `i_0`. Quotients and remainders of a loop, which stand
for loops that were fused, are digits of it: all of them together tell the iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from tilewright.arith.linear import Terms, collect
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, IntImm, Var
from tilewright.tir.analysis.dependence.relations import footprint
from tilewright.tir.analysis.dependence.statements import ANYTHING, Memory, Statement
from tilewright.tir.stmt import For

Pair = tuple[Statement, Statement]

Digit = tuple[int, int, int]
"""``loop // lower % extent``: the identity of the variable of a loop from 0, `lower`, `extent`."""

Bounds = dict[Any, "tuple[int, int] | None"]
"""The first and the last value of variables and digits, None where these are not numbers."""


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
    same = {var for n, (var, ends) in enumerate(outer.items()) if n < equal or _is_one(ends)}
    first, second = map(_Indices, runs, accesses)
    for a in footprint(accesses[0]).accesses:
        for b in footprint(accesses[1]).accesses:
            meet = a.memory is b.memory or a.memory is ANYTHING or b.memory is ANYTHING
            if not meet or not (a.is_write or b.is_write):
                continue
            known = _Known(outer, same)
            if a.buffer is b.buffer and a.indices is not None and b.indices is not None:
                for left, right in zip(a.indices, b.indices, strict=True):
                    known.note(first.sum(left), second.sum(right))
            yield a.memory if a.memory is b.memory else ANYTHING, known.count()


def _bounds(loop: For) -> tuple[int, int] | None:
    low, extent = loop.min, loop.extent
    if not isinstance(low, IntImm) or not isinstance(extent, IntImm):
        return None
    return low.value, low.value + extent.value - 1


def _is_one(ends: tuple[int, int] | None) -> bool:
    return ends is not None and ends[0] == ends[1]


class _Known:
    """The loops and digits that have the same value for both sides.

    Args:
        outer: the loops around both sides, from the outermost on.
        same: those of them that certainly have.
    """

    def __init__(self, outer: Bounds, same: Collection[Expr]) -> None:
        self._outer = outer
        self._identities = {id(var) for var in outer}
        self._loops: set[Any] = set(same)
        self._digits: set[Digit] = set()

    def _is_outer(self, key: Any) -> bool:
        return key[0] in self._identities if isinstance(key, tuple) else key in self._outer

    def _has(self, key: Any) -> bool:
        if isinstance(key, tuple):
            return key in self._digits or any(key[0] == id(var) for var in self._loops)
        return key in self._loops

    def note(self, left: _Sum | None, right: _Sum | None) -> None:
        """Add what follows from an index that is equal on both sides.

        The multiples of what is around both differ by no more than the rests do. So values do not
        differ if their stride is larger than all that is below it.
        """
        if left is None or right is None:
            return
        rest, other = left.rest(self._is_outer), right.rest(self._is_outer)
        if rest is None or other is None:
            return
        strides: list[tuple[int, Any, tuple[int, int] | None]] = []
        for key in dict.fromkeys((*left.terms, *right.terms)):
            if not self._is_outer(key):
                continue
            factor = left.terms.get(key, 0)
            if factor != right.terms.get(key, 0):
                return
            if factor and not self._has(key):
                strides.append((abs(factor), key, left.bounds[key]))
        below: float = max(abs(other[1] - rest[0]), abs(rest[1] - other[0]))
        told: list[Any] = []
        for stride, key, ends in sorted(strides, key=lambda item: item[0]):
            if stride > below:
                told.append(key)
            else:
                told.clear()
            below += math.inf if ends is None else stride * (ends[1] - ends[0])
        for key in told:
            (self._digits if isinstance(key, tuple) else self._loops).add(key)

    def count(self) -> int:
        """How many loops, from the outermost on, have the same value."""
        count = 0
        for var, ends in self._outer.items():
            if var not in self._loops and not self._is_told(var, ends):
                break
            count += 1
        return count

    def _is_told(self, var: Any, ends: tuple[int, int] | None) -> bool:
        """Whether the known digits of a loop make up its value."""
        if ends is None or ends[0] != 0:
            return False
        own = [digit for digit in self._digits if digit[0] == id(var)]
        reached, grows = 1, True
        while grows and reached <= ends[1]:
            grows = False
            for _, lower, extent in own:
                if lower == reached and extent > 1:
                    reached, grows = reached * extent, True
                    break
        return reached > ends[1]


class _Sum(NamedTuple):
    """Multiples of variables of loops, and of digits of them, plus a constant.

    Attributes:
        terms: the factors.
        constant: the constant.
        bounds: of the variables and digits.
    """

    terms: dict[Any, int]
    constant: int
    bounds: Bounds

    def rest(self, is_outer: Callable[[Any], bool]) -> tuple[int, int] | None:
        """Between which numbers all lies but the multiples of what `is_outer` holds for."""
        low = high = self.constant
        for var, factor in self.terms.items():
            if is_outer(var):
                continue
            ends = self.bounds[var]
            if ends is None:
                return None
            low += factor * ends[factor < 0]
            high += factor * ends[factor > 0]
        return low, high


class _Indices:
    """Indices of accesses as sums over the loops around a statement.

    `runs` is the statement, `accesses` the one whose iterators the indices mention.
    """

    def __init__(self, runs: Statement, accesses: Statement) -> None:
        self._bounds, values = _values_of_iterators(runs)
        self._values = dict(zip(accesses.iterators, values, strict=True))
        self._known: dict[Expr, _Sum | None] = {}

    def sum(self, index: Expr) -> _Sum | None:
        """An index as a sum, None if it is none."""
        if index not in self._known:
            self._known[index] = _sum(index, self._values, self._bounds)
        return self._known[index]


def _values_of_iterators(statement: Statement) -> tuple[Bounds, list[_Sum | None]]:
    """The bounds of the loops around a statement, and each iterator as a sum over them."""
    found = statement.facts.get("values of iterators")
    if found is None:
        bounds: Bounds = {loop.loop_var: _bounds(loop) for loop in statement.loops}
        values: dict[Var, _Sum | None] = {}
        for var, value in zip(statement.iterators, statement.bindings, strict=True):
            values[var] = _sum(value, values, bounds)
        found = statement.facts["values of iterators"] = bounds, list(values.values())
    return found


def _sum(expr: Expr, values: Mapping[Var, _Sum | None], bounds: Bounds) -> _Sum | None:
    """An expression over iterators and loops as a sum over loops, None if it is none."""
    if not expr.dtype.is_index:
        return None
    terms: Terms = {}
    constant = collect(expr, 1, terms)
    total: dict[Any, int] = {}
    for term, factor in terms.items():
        if term in bounds:
            total[term] = total.get(term, 0) + factor
            continue
        inner = values.get(term)
        if inner is None and isinstance(term, (FloorDiv, FloorMod)):
            inner = _divided(term, values, bounds)
        if inner is None:
            return None
        constant += factor * inner.constant
        for var, scale in inner.terms.items():
            total[var] = total.get(var, 0) + factor * scale
    return _Sum(total, constant, bounds)


def _divided(
    term: FloorDiv | FloorMod, values: Mapping[Var, _Sum | None], bounds: Bounds
) -> _Sum | None:
    """``(i * 64 + j) // 64`` and ``(i * 64 + j) % 64``, where `j` stays below 64."""
    total = _sum(term.a, values, bounds)
    if total is None or not isinstance(term.b, IntImm) or term.b.value < 1:
        return None
    by = term.b.value
    tiles = {var: factor // by for var, factor in total.terms.items() if factor % by == 0}
    rest = {var: factor for var, factor in total.terms.items() if factor % by}
    inside = _Sum(rest, total.constant, bounds)
    ends = inside.rest(lambda _: False)
    if ends is None or ends[0] // by != ends[1] // by:
        return _digit(term, total, by)
    tile = ends[0] // by
    if isinstance(term, FloorDiv):
        return _Sum(tiles, tile, bounds)
    return inside._replace(constant=total.constant - tile * by)


def _digit(term: FloorDiv | FloorMod, total: _Sum, by: int) -> _Sum | None:
    """The digit that a quotient or remainder of a loop from 0, or of a digit of one, is."""
    if total.constant or list(total.terms.values()) != [1]:
        return None
    (key,) = total.terms
    ends = total.bounds[key]
    if ends is None or ends[0] != 0:
        return None
    whole, lower, extent = (key, 1, ends[1] + 1) if not isinstance(key, tuple) else (None, *key[1:])
    identity = id(key) if whole is not None else key[0]
    if extent % by and whole is None:
        return None  # of a digit, only digits that divide it
    if isinstance(term, FloorDiv):
        lower, extent = lower * by, -(-extent // by)
    else:
        extent = by
    digit = (identity, lower, extent)
    total.bounds[digit] = (0, extent - 1)
    return _Sum({digit: 1}, 0, total.bounds)
