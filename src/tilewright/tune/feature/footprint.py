"""How far an access moves with each step of a loop, and how much memory loops touch.

A loop that an index takes apart (``i // 8`` and ``i % 8`` in different dimensions) counts as
several, one for each digit of its number. The elements that an access touches are the sums of a
multiple of each stride. Strides that count like the digits of a number (each at least as large as
what the smaller ones reach) give an element for each iteration; equal ones, as of a window that
walks over an image, overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

from tilewright.arith.linear import LinearForm, Terms
from tilewright.arith.quotients import (
    Digit,
    Quotient,
    digits_of,
    divided_term,
    divisors_of,
    value_of,
)
from tilewright.tir.transform.machine import LINE_BYTES


def levels_of(loops: Sequence[Any], forms: Iterable[Terms]) -> list[Digit]:
    """The loops, the outermost first, taken apart as the forms of indices need it."""
    divisors = divisors_of(forms)
    if not divisors:
        return [Digit(loop, 1, loop.extent) for loop in loops]
    levels: list[Digit] = []
    for loop in loops:
        levels += digits_of(loop, loop.extent, divisors.get(loop, ()))
    return levels


def strides_along(levels: Sequence[Digit], terms: Terms) -> list[int]:
    """The distance between neighbours along each level."""
    quotients = [
        (divided_term(term), factor) for term, factor in terms.items() if term.__class__ is Quotient
    ]
    strides = [terms[loop] * unit if loop in terms else 0 for loop, unit, _ in levels]
    for divided, factor in quotients:
        if divided is None:
            return _usual_distances(levels, LinearForm(terms, 0))
        source, divisor = divided
        for n, (loop, unit, _) in enumerate(levels):
            if loop is source and unit >= divisor:
                strides[n] += factor * (unit // divisor)
    return strides


def _usual_distances(levels: Sequence[Digit], form: LinearForm) -> list[int]:
    """The distance between neighbours along each level that is found at most places."""
    found: list[list[int]] = [[] for _ in levels]
    for part in (0, 1, 2, 3):
        values = defaultdict(int, {loop: loop.extent * part // 4 for loop, _, _ in levels})
        start = value_of(form, values)
        for distances, (loop, unit, _) in zip(found, levels, strict=True):
            values[loop] += unit
            distances.append(value_of(form, values) - start)
            values[loop] -= unit
    return list(map(_usual, found))


def _usual(distances: list[int]) -> int:
    """The most frequent distance, of several the shortest."""
    return max(distances, key=lambda distance: (distances.count(distance), -abs(distance)))


class Footprint(NamedTuple):
    """What is touched.

    Attributes:
        elements: different elements.
        lines: different cache lines; on average, where it depends on the position of the first.
        run: bytes that are touched without a gap.
        span: bytes from the first to the last.
    """

    elements: int
    lines: float
    run: int
    span: int


@lru_cache(maxsize=1 << 16)
def footprint(
    steps: tuple[tuple[int, int], ...], itemsize: int, line_bytes: int = LINE_BYTES
) -> Footprint:
    """What an access touches in all iterations of some loops.

    Args:
        steps: stride in elements and number of iterations of each loop, in any order; loops along
            which the access stands still are left out.
        line_bytes: of a cache line.
    """
    runs = _runs(steps)
    elements, span = 1, itemsize
    for stride, count in runs:
        elements *= count
        span += stride * (count - 1) * itemsize
    run = itemsize
    outer = runs
    while outer and outer[0][0] * itemsize <= run:
        run += outer[0][0] * (outer[0][1] - 1) * itemsize
        outer = outer[1:]
    lines = _lines(outer, run, itemsize, line_bytes)
    return Footprint(elements, lines, run, span)


def _runs(steps: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """The touched elements as a box: stride and count of each dimension, the smallest first."""
    runs: list[tuple[int, int]] = []
    for stride, count in sorted((abs(stride), count) for stride, count in steps):
        if count <= 1 or not stride:
            continue
        for position, (known, length) in enumerate(runs):
            ratio, rest = divmod(stride, known)
            if not rest and ratio <= length and _joins(runs, position, ratio, count):
                runs[position] = (known, length + ratio * (count - 1))
                break
        else:
            runs.append((stride, count))
    return runs


def _joins(runs: list[tuple[int, int]], position: int, ratio: int, count: int) -> bool:
    """Whether a dimension may be made longer without reaching into the next one."""
    stride, length = runs[position]
    longer = length + ratio * (count - 1)
    return position + 1 == len(runs) or stride * longer <= runs[position + 1][0]


def _lines(outer: list[tuple[int, int]], run: int, itemsize: int, line_bytes: int) -> float:
    """Cache lines of runs of `run` bytes that are repeated along the dimensions `outer`."""
    repeats = 1
    aligned = True
    for position, (stride, count) in enumerate(outer):
        distance = stride * itemsize
        if distance < line_bytes and position == 0:
            run += distance * (count - 1)  # the gaps are within lines
            continue
        repeats *= count
        aligned = aligned and distance % line_bytes == 0
    if aligned:
        return float(repeats * -(-run // line_bytes))
    # A run that starts anywhere sticks out of the lines that it fills.
    return repeats * (1.0 + (run - itemsize) / line_bytes)


@lru_cache(maxsize=1 << 16)
def crowding(
    steps: tuple[tuple[int, int], ...],
    itemsize: int,
    period: int,
    ways: int,
    line_bytes: int = LINE_BYTES,
) -> float:
    """Which part of the lines that an access touches find a place in a cache, by its sets.

    Rows at a distance of a page compete for the same few sets, however large the cache is.

    Args:
        steps: stride in elements and number of iterations of each loop.
        period: bytes after which addresses share a set again.
        ways: lines that a set holds.
        line_bytes: of a cache line.
    """
    whole = footprint(steps, itemsize, line_bytes)
    most = max(1, period // line_bytes)
    places = min(most, -(-whole.run // line_bytes))
    for stride, count in _runs(steps):
        distance = stride * itemsize
        if distance > whole.run:
            unit = max(gcd(distance, period), line_bytes)
            places = min(most, places * min(count, max(1, period // unit)))
    return min(1.0, ways * places / whole.lines)
