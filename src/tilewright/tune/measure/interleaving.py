"""Timing several candidates in turns, to tell which is the fastest."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Sequence
from typing import Final

from tilewright.tune.measure.timing import Reference, Timed, Times

ROUNDS: Final = 15
"""How often each candidate gets its turn, if there is time."""

FEWEST_ROUNDS: Final = 3

TURN: Final = 0.01
"""Seconds that a turn takes at least."""


def measure_interleaved(
    candidates: Sequence[Timed], reference: Reference | None, seconds: float, seed: int = 0
) -> list[Times]:
    """Time candidates that are about equally fast.

    In each round each of them has its turn, in another order every time. What counts is the time of
    a candidate relative to the mean of its round, and the median over the rounds: what disturbs
    for longer than a round disturbs all of them.

    Args:
        candidates: to be timed.
        reference: takes turns, too; times are scaled so that its own is the nominal one.
        seconds: about how long all of it may take; `FEWEST_ROUNDS` run in any case.
        seed: of the orders.
    """
    end = time.monotonic() + seconds
    everybody = [*candidates, *([reference.timed] if reference else [])]
    runs = [_runs(timed) for timed in everybody]
    order, shuffle = list(range(len(everybody))), random.Random(seed).shuffle
    rounds: list[list[float]] = []
    cpu: list[list[float]] = [[] for _ in everybody]
    while len(rounds) < ROUNDS and (len(rounds) < FEWEST_ROUNDS or time.monotonic() < end):
        shuffle(order)
        found = [0.0] * len(everybody)
        for position in order:
            sample = everybody[position].sample(runs[position])
            found[position] = everybody[position].seconds(sample)
            cpu[position].append(sample.cpu)
        rounds.append(found)
    relative = _relative(rounds)
    scale = statistics.median(_mean(found) for found in rounds)
    if reference is not None:
        scale = reference.nominal / relative[-1]
    return [
        Times([scale * relative[position]], [statistics.median(cpu[position])])
        for position in range(len(candidates))
    ]


def _runs(timed: Timed) -> int:
    """Number of runs in a turn."""
    timed.sample(1)
    return max(1, math.ceil(TURN / max(timed.sample(1).wall, 1e-9)))


def _relative(rounds: Sequence[Sequence[float]]) -> list[float]:
    """The median time of each candidate relative to the mean of the round."""
    means = [_mean(found) for found in rounds]
    return [
        statistics.median(found[position] / mean for found, mean in zip(rounds, means, strict=True))
        for position in range(len(rounds[0]))
    ]


def _mean(found: Sequence[float]) -> float:
    """The geometric mean, in which slow candidates weigh no more than fast ones."""
    return statistics.geometric_mean(max(seconds, 1e-12) for seconds in found)
