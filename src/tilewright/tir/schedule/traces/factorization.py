"""Perfect factorizations of loop extents, chosen uniformly at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from tilewright.error import ArgumentValueError
from tilewright.ir.expr import IntImm
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.traces.random_state import RandomState
from tilewright.tir.stmt import For

MOST_PARTS: Final = 1000
"""Factors of one tile: far more than any loop nest has, so few that choosing takes no time."""


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """All divisors of a positive number, in order."""
    low = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return tuple(low + [number // d for d in reversed(low) if d * d != number])


@lru_cache(maxsize=4096)
def count(number: int, parts: int) -> int:
    """How many lists of `parts` positive numbers have the product `number`."""
    if parts == 0:
        return int(number == 1)
    found = 1
    for exponent in _exponents(number):
        found *= math.comb(exponent + parts - 1, parts - 1)
    return found


def _exponents(number: int) -> list[int]:
    """The exponents of the primes in a positive number."""
    exponents, prime = [], 2
    while prime * prime <= number:
        exponent = 0
        while number % prime == 0:
            number //= prime
            exponent += 1
        exponents.append(exponent)
        prime += 1
    return exponents if number == 1 else [*exponents, 1]


def choose(random: RandomState, number: int, parts: int) -> list[int]:
    """One of the lists of `parts` positive numbers with the product `number`, all alike likely."""
    factors = []
    for left in range(parts - 1, 0, -1):
        candidates = divisors(number)
        factor = weighted(random, candidates, [count(number // d, left) for d in candidates])
        factors.append(factor)
        number //= factor
    return [*factors, number] if parts else []


def weighted(random: RandomState, items: Sequence[int], weights: Sequence[int]) -> int:
    """One of `items`, with a probability in proportion to its weight."""
    return items[random.choice([float(weight) for weight in weights])]


def constant_extent(loop: For) -> int:
    """The extent of a loop that has a constant and positive one."""
    if not isinstance(loop.extent, IntImm):
        raise ScheduleError(
            "the extent of {0} is symbolic, so that there is no perfect tile of it",
            at=[loop],
            hint="split it by constant factors, one of them None",
        )
    if loop.extent.value < 1:
        raise ScheduleError("{0} has no iterations", at=[loop])
    return loop.extent.value


def check_parts(primitive: str, parts: int) -> None:
    """Refuse a number `n` of factors that is not from 1 to `MOST_PARTS`."""
    if not 1 <= parts <= MOST_PARTS:
        raise ArgumentValueError(f"{primitive}: `n` is from 1 to {MOST_PARTS}, got {parts}")


def decided(primitive: str, extent: int, parts: int, decision: Sequence[int]) -> list[int]:
    """The factors of a decision, repaired where it was made for another extent.

    From the last one on, a factor becomes its greatest common divisor with what is left of the
    extent; the first is what remains.
    """
    values = list(decision) if isinstance(decision, (list, tuple)) else []
    if len(values) != parts or not all(_is_positive(value) for value in values):
        raise ArgumentValueError(
            f"{primitive}: a decision is a list of {parts} positive numbers, got {decision!r}"
        )
    factors = []
    for value in reversed(values[1:]):
        factors.append(math.gcd(extent, int(value)))
        extent //= factors[-1]
    return [extent, *reversed(factors)]


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
