"""Whether the order in which a reducer combines elements matters, ties included.

A reduction may be regrouped if its reducer is associative, and reordered if it is commutative as
well. Both are decided for the components of the reducer that depend on each other:

* One component that is combined by ``+``, ``*``, ``min``, ``max``, ``and``, ``or`` or ``xor`` has
  both properties (sums and products of floats up to rounding).
* Components that are *selected* by comparisons (by `Select`, `min` and `max` under conditions made
  of comparisons, ``and``, ``or`` and ``not``) are tried on all orders that elements can have. This
  is a proof: what a selection takes depends on nothing but which of the values that it compares
  are smaller, equal or greater, so two triples of elements whose values are in the same order give
  results at the same positions, and there are finitely many orders of the values of three elements.
* Anything else is tried on some numbers, exactly. That may disprove a property, never prove it.

A NaN is in no order with other values, so a selection that gets one may give another result in
another order, as a sum of floats may. A selection that asks for NaNs (by ``x != x`` or `isnan`) is
tried on them, too: such a reducer that is proved is right for all values.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple

from tilewright.ir.dtype import DType
from tilewright.tir.analysis.reducer_source import Source, source_of
from tilewright.tir.analysis.update import is_idempotent, neutral_element
from tilewright.tir.expr import CommReducer

Element = tuple[Any, ...]
"""A number for each component."""


class Disagreement(NamedTuple):
    """Elements that a reducer combines to different results in two orders.

    Attributes:
        members: the components that are concerned; elements and results have these only.
        elements: two of them if the reducer is not commutative, three if it is not associative.
        results: what the two orders give.
    """

    members: tuple[int, ...]
    elements: tuple[Element, ...]
    results: tuple[Element, Element]

    def text(self, names: Sequence[str]) -> str:
        """What happens, with the names of all components of the reducer."""
        own = [names[member] for member in self.members]
        elements = [_shown(own, element) for element in self.elements]
        differs = [not _same((a,), (b,)) for a, b in zip(*self.results, strict=True)]
        one, other = (
            _shown(itertools.compress(own, differs), itertools.compress(result, differs))
            for result in self.results
        )
        listed = f"{', '.join(elements[:-1])} and {elements[-1]}"
        if len(elements) == 2:
            return f"{listed}: combined in this order they give {one}, in the other {other}"
        return f"{listed}: combined from the left they give {one}, from the right {other}"


def _shown(names: Iterable[str], element: Iterable[Any]) -> str:
    pairs = zip(names, element, strict=True)
    return f"({', '.join(f'{name} {_number(value)}' for name, value in pairs)})"


def _number(value: Any) -> str:
    return str(float(value)) if isinstance(value, Fraction) else str(value)


Verdict = Disagreement | bool
"""True where a property is proved, False where it is not known."""


@dataclass(frozen=True)
class ReducerLaws:
    """What is known about a reducer.

    Attributes:
        associative: whether elements may be grouped in any way.
        commutative: whether two elements may change places.
        absorbing: for each component, whether combining the first element of a sequence once more,
            at any later time, changes nothing; so it may be the start of every partial result.
        neutral: an element that changes nothing, as far as there is one.
        leaves_left: whether it changes nothing on the left.
        leaves_right: whether it changes nothing on the right.
    """

    associative: Verdict
    commutative: Verdict
    absorbing: tuple[bool, ...]
    neutral: Element
    leaves_left: bool
    leaves_right: bool

    @property
    def order_free(self) -> Verdict:
        """Whether the elements may be combined in any order."""
        for verdict in (self.commutative, self.associative):
            if verdict is not True:
                return verdict
        return True


def laws_of(combiner: CommReducer) -> ReducerLaws:
    """What is known about a reducer; equal ones are examined once."""
    return _laws_of_source(source_of(combiner))


@functools.lru_cache(maxsize=512)
def _laws_of_source(source: Source) -> ReducerLaws:
    groups = [_Group(source, members) for members in source.groups]
    absorbing, neutral = [False] * len(source.dtypes), [None] * len(source.dtypes)
    left = right = True
    for group in groups:
        found = group.neutral()
        left, right = left and found.leaves_left, right and found.leaves_right
        for place, member in enumerate(group.members):
            absorbing[member] = group.is_absorbing
            neutral[member] = found.element[place]
    return ReducerLaws(
        _worst([group.associativity() for group in groups]),
        _worst([group.commutativity() for group in groups]),
        tuple(absorbing),
        tuple(neutral),
        left,
        right,
    )


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    for verdict in verdicts:
        if isinstance(verdict, Disagreement):
            return verdict
    return all(verdicts)


# --- one group of components ------------------------------------------------------------------

_SAMPLES: Final = 100
"""Triples of elements that an arithmetic reducer is tried on."""

_MOST_ORDERS: Final = 60_000
"""A selection is not tried on more orders of its values."""


def _least(a: Any, b: Any) -> Any:
    return a if a != a or a <= b else b


def _greatest(a: Any, b: Any) -> Any:
    return a if a != a or a >= b else b


class _Neutral(NamedTuple):
    """An element, and on which sides it changes nothing."""

    element: Element
    leaves_left: bool
    leaves_right: bool


class _Group:
    """Components of a reducer that depend on each other, and on no others."""

    def __init__(self, source: Source, members: tuple[int, ...]) -> None:
        self.members, self._source = members, source
        self._operator = source.operators[members[0]] if len(members) == 1 else None
        self._selects = all(source.selects[n] for n in members)
        texts = [source.results[n] for n in members]
        self._combine: Callable[[Element, Element], Element] | None = None
        if self._operator is None and None not in texts:
            operands = ", ".join(f"{side}{n}" for side in "xy" for n in members)
            text = f"lambda {operands}: ({', '.join(map(str, texts))},)"
            function = eval(text, {"least": _least, "greatest": _greatest, "real": self._real})
            self._combine = lambda a, b: function(*a, *b)

    def _real(self, value: float) -> Any:
        """A constant of the reducer; exact where it takes part in arithmetic."""
        return value if self._selects or not math.isfinite(value) else Fraction(value)

    def associativity(self) -> Verdict:
        """Whether ``(a b) c`` is ``a (b c)``."""
        if self._operator is not None:
            return True
        return self._examined(3, _grouped_from_left, _grouped_from_right)

    def commutativity(self) -> Verdict:
        """Whether ``a b`` is ``b a``."""
        if self._operator is not None:
            return True
        return self._examined(2, _in_order, _in_other_order)

    @functools.cached_property
    def is_absorbing(self) -> bool:
        """Whether ``(s a) s`` is ``s a``, and ``s s`` is `s`."""
        if self._operator is not None:
            return is_idempotent(self._operator)
        return self._selects and (
            self._examined(2, _first_once_more, _in_order) is True
            and self._examined(1, _twice, _once) is True
        )

    def neutral(self) -> _Neutral:
        """The element that changes the least: nothing, nothing on one side, or anything."""
        dtypes = [self._source.dtypes[n] for n in self.members]
        if self._operator is not None:
            element = neutral_element(self._operator, dtypes[0])
            return _Neutral((getattr(element, "value", None),), True, True)
        found = _Neutral(tuple(_of_no_element(dtype) for dtype in dtypes), False, False)
        if not self._selects:
            return found
        choices = [dict.fromkeys((_of_no_element(d), *_limits(d))) for d in dtypes]
        for element in itertools.product(*choices):
            tried = _Neutral(element, *(self._leaves(element, left=left) for left in (True, False)))
            if sum(tried[1:]) > sum(found[1:]):
                found = tried
            if all(tried[1:]):
                break
        return found

    def _leaves(self, element: Element, *, left: bool) -> bool:
        """Whether an element, on the left or on the right, changes nothing."""

        def combined(combine: Any, x: Element) -> Element:
            return combine(element, x) if left else combine(x, element)

        return self._examined(1, combined, _once, element) is True

    def _examined(self, count: int, one: Any, other: Any, special: Element = ()) -> Verdict:
        """Whether two ways to combine `count` elements give the same.

        `special` is one more element that the ways use.
        """
        combine = self._combine
        if combine is None:
            return False
        tried = self._all_orders(count, special) if self._selects else self._samples(count)
        if tried is None:
            return False
        for elements in tried:
            try:
                results = one(combine, *elements), other(combine, *elements)
            except ZeroDivisionError:
                continue
            if not _same(*results):
                return Disagreement(self.members, elements, results)
        return self._selects

    def _all_orders(self, count: int, special: Element) -> Iterable[tuple[Element, ...]] | None:
        """Elements whose values are in all possible orders; None for too many of them."""
        source = self._source
        classes: dict[int, list[int]] = {}
        for place, member in enumerate(self.members):
            classes.setdefault(source.compared[member], []).append(place)
        orders: list[list[Element]] = []
        for places in classes.values():
            alike = [self.members[place] for place in places]
            constants = {value for n in alike for value in source.constants[n]}
            constants.update(special[place] for place in places if special)
            asks = any(source.asks_for_nan[n] for n in alike)
            dtype = source.dtypes[alike[0]]
            found = _orders(dtype, tuple(sorted(constants)), count * len(places), asks)
            if found is None:
                return None
            orders.append(found)
        if math.prod(map(len, orders)) > _MOST_ORDERS:
            return None
        return (
            _elements(dict(zip(map(tuple, classes.values()), chosen, strict=True)), count)
            for chosen in itertools.product(*orders)
        )

    def _samples(self, count: int) -> Iterator[tuple[Element, ...]]:
        """Elements of small numbers, as fractions where components are floats."""
        rng = random.Random(0)
        ranges = [_small_numbers(self._source.dtypes[n]) for n in self.members]
        for _ in range(_SAMPLES):
            yield tuple(tuple(map(rng.choice, ranges)) for _ in range(count))


def _grouped_from_left(combine: Any, a: Element, b: Element, c: Element) -> Element:
    return combine(combine(a, b), c)


def _grouped_from_right(combine: Any, a: Element, b: Element, c: Element) -> Element:
    return combine(a, combine(b, c))


def _in_order(combine: Any, a: Element, b: Element) -> Element:
    return combine(a, b)


def _in_other_order(combine: Any, a: Element, b: Element) -> Element:
    return combine(b, a)


def _first_once_more(combine: Any, a: Element, b: Element) -> Element:
    return combine(combine(a, b), a)


def _twice(combine: Any, a: Element) -> Element:
    return combine(a, a)


def _once(combine: Any, a: Element) -> Element:
    del combine
    return a


def _same(one: Element, other: Element) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


# --- orders of values -------------------------------------------------------------------------


def _elements(values: dict[tuple[int, ...], Element], count: int) -> tuple[Element, ...]:
    """Elements whose components at some places have these values, one element after the other."""
    rows: list[dict[int, Any]] = [{} for _ in range(count)]
    for places, chosen in values.items():
        positions = itertools.product(range(count), places)
        for (element, place), value in zip(positions, chosen, strict=True):
            rows[element][place] = value
    return tuple(tuple(row[place] for place in sorted(row)) for row in rows)


@functools.lru_cache(maxsize=256)
def _orders(dtype: DType, constants: Element, count: int, with_nan: bool) -> list[Element] | None:
    """All orders that some values and constants can have, by one example each."""
    if dtype.is_bool:
        return list(itertools.product((False, True), repeat=count))
    gaps = _gaps(dtype, constants, count)
    rank = {value: (n, place) for n, gap in enumerate(gaps) for place, value in enumerate(gap)}
    candidates: list[Any] = [*rank, *constants, *([math.nan] if with_nan else [])]
    if len(candidates) ** count > 5 * _MOST_ORDERS:
        return None
    found = []
    for values in itertools.product(candidates, repeat=count):
        used = {rank[value] for value in values if value in rank}
        # Of the values between two constants the lowest ones stand for all.
        if all(place == 0 or (n, place - 1) in used for n, place in used):
            found.append(values)
    return found


def _gaps(dtype: DType, constants: Element, count: int) -> list[list[Any]]:
    """Values below, between and above constants: `count` each, where there are as many."""
    low, high = _limits(dtype)
    if not constants:
        return [[_as_number(dtype, n) for n in range(count)]]
    first, last = constants[0], constants[-1]
    if dtype.is_integral:
        gaps = [list(range(max(low, first - count), first))]
        gaps += [
            list(range(a + 1, min(a + 1 + count, b))) for a, b in itertools.pairwise(constants)
        ]
        return [*gaps, list(range(last + 1, min(last + 1 + count, high + 1)))]
    gaps = []
    for a, b in itertools.pairwise((low, *constants, high)):
        start = a if math.isfinite(a) else b - 1 - abs(b) if math.isfinite(b) else 0.0
        end = b if math.isfinite(b) else start + 1 + abs(start)
        step = (end - start) / (count + 1)
        gaps.append([start + step * (n + 1) for n in range(count)] if a < b else [])
    return gaps


def _of_no_element(dtype: DType) -> Any:
    """What stands for the index of no element."""
    return _as_number(dtype, 0 if dtype.is_uint or dtype.is_bool else -1)


def _limits(dtype: DType) -> tuple[Any, Any]:
    """The least and the greatest value."""
    return (dtype.min_int, dtype.max_int) if dtype.is_integral else (-math.inf, math.inf)


def _as_number(dtype: DType, value: int) -> Any:
    return value if dtype.is_integral else float(value)


def _small_numbers(dtype: DType) -> list[Any]:
    if dtype.is_bool:
        return [False, True]
    if dtype.is_integral:
        return [0, 1, 2, 3] if dtype.is_uint else [-2, -1, 0, 1, 3]
    return [Fraction(n) for n in (-2, -1, 0, 1, 3)]
