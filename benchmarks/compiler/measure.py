"""How things are measured: medians of repeated runs, with their spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    """One measured quantity.

    Attributes:
        name: what was measured.
        values: one per repetition, in `unit`.
        unit: of the values and the aim; ``"x"`` for a ratio.
        aim: what the median should not exceed, or, for a ratio of speeds, not fall below.
        note: what else is worth saying.
    """

    name: str
    values: Sequence[float]
    unit: str
    aim: float | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The middle half of the values."""
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high

    @property
    def reached(self) -> bool | None:
        """Whether the aim is reached; None without one."""
        if self.aim is None:
            return None
        return self.median >= self.aim if self.unit == "x" else self.median <= self.aim


def seconds(function: Callable[[], object], repeat: int, number: int = 1) -> list[float]:
    """Seconds per call: `repeat` times the average of `number` calls, after one to warm up."""
    function()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            function()
        times.append((time.perf_counter() - start) / number)
    return times


def speed_ratios(
    ours: Callable[[], object], theirs: Callable[[], object], repeat: int, number: int = 1
) -> list[float]:
    """How many times faster `ours` is, measured in turns so that both see the same machine."""
    ours(), theirs()
    ratios = []
    for _ in range(repeat):
        mine = seconds_once(ours, number)
        ratios.append(seconds_once(theirs, number) / mine)
    return ratios


def seconds_once(function: Callable[[], object], number: int) -> float:
    """Seconds that `number` calls take."""
    start = time.perf_counter()
    for _ in range(number):
        function()
    return time.perf_counter() - start


def scaled(values: Sequence[float], factor: float) -> list[float]:
    """The values in another unit."""
    return [value * factor for value in values]
