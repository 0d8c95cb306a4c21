"""Timing in the child process.

A *sample* is some runs in a native loop between two readings of the clocks. Samples of a candidate
take turns with samples of a reference, a candidate of the same workload that stays loaded. What is
told is

    seconds = nominal seconds of the reference * median of (candidate / reference next to it)

so that it does not matter whether the machine is slower at the moment than it was an hour ago. A
sample of code for one core is the processor time of its thread, which passes only while it runs.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.runtime.benchmark import timed_loop
from tilewright.runtime.device import CPU, Device, cpu

SAMPLES: Final = 20
"""Maximum number of samples of a repetition."""

REFERENCE_SHARE: Final = 0.4
"""The time for the reference, as a part of that for the candidate (and at least two runs)."""

SHORT: Final = 1e-3
"""Seconds; a sample of less says little about a short function."""

HOPELESS: Final = 2.0
"""A candidate whose first run takes this many times as long as the best is not run again."""

SLOWER: Final = 1.2
"""A candidate whose samples take this many times as long as the best gets no more."""

CERTAIN: Final = 0.05
AGAIN: Final = 2
"""A sample of fewer seconds may have been disturbed: more are needed to give up."""

PATIENCE: Final = 2.0
"""Seconds after which a candidate of a workload gets no more samples."""

FLUSHED: Final = 64 << 20
"""Bytes to write so that caches hold other data."""


class Sample(NamedTuple):
    """Seconds per run."""

    wall: float
    cpu: float


class Timed:
    """A function and its arguments, to be timed.

    Args:
        function: compiled.
        arguments: of the function.
        single: whether it runs on one core.
        flush: whether caches should hold other data when it starts.
        place: the device on which it runs, the CPU by default.
    """

    def __init__(
        self,
        function: Any,
        arguments: Any,
        single: bool,
        flush: bool = False,
        place: Device | None = None,
    ) -> None:
        self._function, self._arguments, self._place = function, arguments, place or cpu()
        self._single = single and self._place.device_type == CPU
        self._flushed = np.zeros(FLUSHED, np.uint8) if flush else None
        self._run: Callable[[int], float] | None = None

    def sample(self, runs: int) -> Sample:
        """Time a number of runs."""
        if self._run is None:
            self._run = timed_loop(self._function, self._arguments, self._place)
        if self._flushed is not None:
            self._flushed += 1
        start = time.thread_time()
        wall = self._run(runs)
        return Sample(wall / runs, (time.thread_time() - start) / runs)

    def seconds(self, sample: Sample) -> float:
        """What counts of a sample."""
        return min(sample) if self._single else sample.wall

    @property
    def is_flushed(self) -> bool:
        """Whether each run needs caches to be flushed before it."""
        return self._flushed is not None


class Reference(NamedTuple):
    """What to compare with, and how long it takes by definition."""

    timed: Timed
    nominal: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to run: see `EvaluatorConfig`.

    Attributes:
        number: runs per repetition, at least.
        repeat: repetitions.
        min_repeat_ms: how long a repetition takes at least.
        best: seconds of the best candidate so far, if clearly slower ones matter less.
        seconds: when to stop, though there is more to run.
    """

    number: int
    repeat: int
    min_repeat_ms: int
    best: float | None = None
    seconds: float = math.inf


@dataclass(slots=True)
class Times:
    """What was measured: `RunnerResult.run_secs` and `cpu_secs`.

    Attributes:
        run_secs: one per repetition.
        cpu_secs: the same in processor time, as measured.
        complete: whether all that was planned has run.
    """

    run_secs: list[float] = field(default_factory=list)
    cpu_secs: list[float] = field(default_factory=list)
    complete: bool = True


def measure(candidate: Timed, reference: Reference | None, plan: Plan) -> Times:
    """Time a candidate."""
    end = time.monotonic() + plan.seconds
    first = candidate.sample(1)
    estimate = candidate.seconds(first)
    if estimate < SHORT and not candidate.is_flushed:
        first = _calibrated(candidate, first)
        estimate = candidate.seconds(first)
    if plan.best is not None:
        first = _least(candidate, first, HOPELESS * plan.best)
        estimate = candidate.seconds(first)
    is_hopeless = plan.best is not None and estimate > HOPELESS * plan.best
    if is_hopeless or time.monotonic() > end:
        return Times([estimate], [first.cpu], complete=False)
    times = Times()
    for _ in range(plan.repeat):
        _repetition(candidate, reference, plan, estimate, end, times)
        if not times.complete:
            break
    return times


def _calibrated(candidate: Timed, sample: Sample) -> Sample:
    """A sample that takes long enough for the clock."""
    runs = 1
    while sample.wall * runs < SHORT:
        runs = max(2 * runs, min(math.ceil(SHORT / max(sample.wall, 1e-9)), 16 * runs))
        sample = candidate.sample(runs)
    return sample


def _least(candidate: Timed, sample: Sample, limit: float) -> Sample:
    """The sample, or the least of some more if it is above the limit and short."""
    for _ in range(AGAIN):
        if candidate.seconds(sample) <= limit or sample.wall >= CERTAIN:
            break
        runs = max(1, math.ceil(SHORT / max(sample.wall, 1e-9)))
        sample = min(sample, candidate.sample(runs), key=candidate.seconds)
    return sample


def _repetition(
    candidate: Timed,
    reference: Reference | None,
    plan: Plan,
    estimate: float,
    end: float,
    times: Times,
) -> None:
    """Add one repetition to `times`."""
    count, runs = _division(candidate, reference, plan, estimate)
    series = _Series(reference, runs * estimate)
    cpu = []
    for position in range(count):
        sample = candidate.sample(runs)
        cpu.append(sample.cpu)
        series.add(candidate.seconds(sample), sample.wall * runs)
        is_last = position == count - 1
        times.complete = not (
            series.is_slower(plan.best) or (time.monotonic() > end and not is_last)
        )
        if not times.complete:
            break
    times.run_secs.append(series.result())
    times.cpu_secs.append(statistics.median(cpu))


def _division(
    candidate: Timed, reference: Reference | None, plan: Plan, estimate: float
) -> tuple[int, int]:
    """Number of samples, and of runs in each."""
    if candidate.is_flushed:
        return plan.number, 1
    share = 1 / (1 + REFERENCE_SHARE) if reference else 1.0
    runs = max(plan.number, math.ceil(plan.min_repeat_ms * 1e-3 * share / max(estimate, 1e-9)))
    count = max(1, min(runs, SAMPLES, int(runs * estimate / SHORT)))
    return count, math.ceil(runs / count)


class _Series:
    """Samples of a candidate, with samples of the reference between them."""

    def __init__(self, reference: Reference | None, seconds: float) -> None:
        self._reference = reference
        self._relative: list[float] = []
        self._pending: list[float] = []
        self._spent = self._spent_on_reference = 0.0
        if reference is not None:
            self._runs = max(1, round(REFERENCE_SHARE * seconds / reference.nominal))
            self._before = self._sample_reference()

    def _sample_reference(self) -> float:
        assert self._reference is not None
        sample = self._reference.timed.sample(self._runs)
        self._spent_on_reference += sample.wall * self._runs
        return self._reference.timed.seconds(sample)

    def add(self, seconds: float, spent: float) -> None:
        """Add a sample of the candidate: seconds per run, and in all."""
        self._spent += spent
        self._pending.append(seconds)
        if self._reference is not None:
            cost = self._runs * self._before
            if self._spent_on_reference + cost <= 2 * REFERENCE_SHARE * self._spent:
                self._settle()

    def _settle(self) -> None:
        """Compare what is pending with the reference before and after it."""
        after = self._sample_reference()
        middle = (self._before + after) / 2
        self._relative += [seconds / middle for seconds in self._pending]
        self._pending, self._before = [], after

    def is_slower(self, best: float | None) -> bool:
        """Whether the candidate is clearly slower than the best."""
        count = len(self._relative) + len(self._pending)
        if best is None or (count <= AGAIN and self._spent < CERTAIN):
            return False
        return self._estimate() > SLOWER * best

    def _estimate(self) -> float:
        if self._reference is None:
            return statistics.median(self._pending)
        rest = [seconds / self._before for seconds in self._pending]
        return statistics.median(self._relative + rest) * self._reference.nominal

    def result(self) -> float:
        """Seconds per run, by the nominal time of the reference."""
        if self._reference is not None and self._pending:
            self._settle()
        return self._estimate()
