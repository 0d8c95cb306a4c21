"""How far an access moves with each step of a loop.

A loop that an index takes apart (``i // 8`` and ``i % 8`` in different dimensions) counts as
several, one for each digit of its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tilewright.tune.feature.index_form import Anything, Quotient, Terms, value_at


class Level(NamedTuple):
    """A loop, or one digit of it: ``loop // unit % extent``."""

    loop: Any
    unit: int
    extent: int


def levels_of(loops: Sequence[Any], forms: Iterable[Terms]) -> list[Level]:
    """The loops, the outermost first, taken apart as the forms of indices need it."""
    divisors: dict[Any, set[int]] = {}
    for terms in forms:
        for key in terms:
            digit = _digit(key)
            if digit is not None:
                divisors.setdefault(digit[0], set()).add(digit[1])
    if not divisors:
        return [Level(loop, 1, loop.extent) for loop in loops]
    found: list[Level] = []
    for loop in loops:
        unit, above = 1, []
        for divisor in sorted(divisors.get(loop, ())):
            if divisor % unit == 0 and unit < divisor < loop.extent:
                above.append(Level(loop, unit, divisor // unit))
                unit = divisor
        above.append(Level(loop, unit, -(-loop.extent // unit)))
        found += reversed(above)
    return found


def strides_along(levels: Sequence[Level], terms: Terms) -> list[int]:
    """The distance between neighbours along each level."""
    if not any(key.__class__ is Quotient for key in terms):
        return [terms[loop] * unit if loop in terms else 0 for loop, unit, _ in levels]
    if any(key.__class__ is Quotient and _digit(key) is None for key in terms):
        return [_usual_distance(level, levels, terms) for level in levels]
    strides = []
    for loop, unit, _ in levels:
        stride = terms.get(loop, 0) * unit
        for key, coefficient in terms.items():
            digit = _digit(key)
            if digit is not None and digit[0] is loop and unit >= digit[1]:
                stride += coefficient * (unit // digit[1])
        strides.append(stride)
    return strides


def _usual_distance(level: Level, levels: Sequence[Level], terms: Terms) -> int:
    """The distance between neighbours along `level` that is found at most places."""
    found = []
    for part in (0, 1, 2, 3):
        values = {loop: loop.extent * part // 4 for loop, _, _ in levels}
        start = value_at(terms, 0, values)
        values[level.loop] += level.unit
        found.append(value_at(terms, 0, values) - start)
    return max(found, key=lambda stride: (found.count(stride), -abs(stride)))


def _digit(key: Any) -> tuple[Any, int] | None:
    """The loop and the divisor of a quotient that is a digit of one loop."""
    if key.__class__ is not Quotient or key.constant or len(key.terms) != 1:
        return None
    ((inner, coefficient),) = key.terms.items()
    if coefficient != 1 or inner.__class__ in (Quotient, Anything):
        return None
    return inner, key.divisor
