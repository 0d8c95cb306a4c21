"""Random numbers that a seed repeats, and random factors of an extent."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.expr import IntImm
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.stmt import For

MODULUS = 2**31 - 1
MULTIPLIER = 48271
MASK = 2**64 - 1


class RandomState:
    """A linear congruential generator, minimal standard of Park, Miller and Stockmeyer (1993).

    Args:
        seed: what it starts from; None for a seed from the system.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise ArgumentError(f"a seed is an integer, got {seed!r}")
        value = secrets.randbits(31) if seed is None else seed
        self._state = scrambled(value) % MODULUS or 1

    def next(self) -> int:
        """The next number, from 1 to 2**31 - 2."""
        self._state = self._state * MULTIPLIER % MODULUS
        return self._state

    def integer(self, low: int, high: int) -> int:
        """One of ``low, ..., high - 1``."""
        return low + self.next() % (high - low)

    def uniform(self) -> float:
        """A number from 0 to 1, 1 excluded."""
        return (self.next() - 1) / (MODULUS - 1)

    def choice(self, weights: list[float]) -> int:
        """A position, with a probability in proportion to its weight."""
        target = self.uniform() * sum(weights)
        for position, weight in enumerate(weights):
            target -= weight
            if target < 0:
                return position
        return max(position for position, weight in enumerate(weights) if weight > 0)

    def fork_seed(self) -> int:
        """A seed for another generator."""
        return self.next() * 32767 % 1999999973


def scrambled(seed: int) -> int:
    """A number of 64 bits that says as much as the seed, but has little in common with the next.

    The first numbers of generators with small seeds would all be small otherwise. The steps are
    those of SplitMix64 (Steele, Lea and Flood, 2014).
    """
    value = (seed + 0x9E3779B97F4A7C15) & MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & MASK
    return value ^ value >> 31


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
    exponents: list[int] = []
    prime = 2
    while prime * prime <= number:
        exponent = 0
        while number % prime == 0:
            number //= prime
            exponent += 1
        exponents.append(exponent)
        prime += 1
    return exponents if number == 1 else [*exponents, 1]


def choose(random: RandomState, number: int, parts: int) -> list[int]:
    """A list of `parts` positive numbers with the product `number`, all equally likely."""
    factors: list[int] = []
    for left in range(parts - 1, 0, -1):
        candidates = divisors(number)
        factor = weighted(random, candidates, [count(number // d, left) for d in candidates])
        factors.append(factor)
        number //= factor
    return [*factors, number] if parts else []


def weighted(random: RandomState, items: Sequence[int], weights: Sequence[int]) -> int:
    """One of `items`, with a probability in proportion to its weight."""
    return items[random.choice([float(weight) for weight in weights])]


MOST: Final = 2**31 - 1
"""The largest number that has factors chosen without a loop; loops over int32 have no more."""


def constant_extent(loop: For | int) -> int:
    """The extent of a loop that has a constant and positive one; a number stands for its own."""
    if isinstance(loop, int):
        if not 1 <= loop <= MOST:
            raise ScheduleError(f"a number that has factors is from 1 to {MOST}, not {loop}")
        return loop
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
    factors: list[int] = []
    for value in reversed(values[1:]):
        factors.append(math.gcd(extent, int(value)))
        extent //= factors[-1]
    return [extent, *reversed(factors)]


def _is_positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
