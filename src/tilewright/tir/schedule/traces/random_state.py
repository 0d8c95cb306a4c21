"""The random choices of a schedule, which a seed repeats."""

from __future__ import annotations

import secrets

from tilewright.error import ArgumentError

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
