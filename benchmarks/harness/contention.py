"""Whether something else computes on the same core.

Two hardware threads of a core share its arithmetic units. The other thread may belong to another
program, on a virtual machine to another machine: nobody says so, and code that keeps the units busy
then takes up to twice as long, while code that waits for memory hardly loses.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Final

from benchmarks.harness import cpu
from tilewright.runtime.peaks import MEMORY_BYTES, arithmetic, multiply_add, spans_of

ITERATIONS: Final = 20000
"""Some tens of microseconds."""
VARIABLE: Final = "TILEWRIGHT_BENCH_LEAST_PROBE"
"""The environment variable with the least time of a probe that is known, in seconds."""
TENTH: Final = 10
"""The part of the probes that are short enough to be undisturbed."""
LOOKING: Final = 0.2
"""Seconds that a process looks for an undisturbed moment before it starts another."""


@functools.cache
def probe_of(threads: int) -> Callable[[], float]:
    """A function that multiplies and adds in registers, and says how many seconds that took.

    It does so on as many threads at once, and says what the slowest took, in time of the processor.
    The best of three times counts: the first is longer after other code, whose instructions took
    the place of its own in the caches. Without an instruction that multiplies and adds it is
    always 0.
    """
    target = cpu.target()
    op = multiply_add("float32", target)
    if op is None:
        return lambda: 0.0
    kernel = arithmetic(op, target)
    spans = spans_of(kernel, MEMORY_BYTES, threads, time.thread_time)
    return lambda: min(max(spans(ITERATIONS)) for _ in range(3))


def least_known(threads: int) -> float:
    """The least time of a probe that this process or the one that started it saw; else infinite."""
    return _least.get(threads, float(os.environ.get(VARIABLE, "inf")))


def environment(threads: int) -> dict[str, str]:
    """The variable for a process that measures on so many threads.

    This one looks for an undisturbed moment: that process may find none, as a core may be shared
    for minutes.
    """
    probe, end = probe_of(threads), time.monotonic() + LOOKING
    found: list[float] = []
    while time.monotonic() < end:
        found.append(probe())
        time.sleep(0.001)
    if found:  # a single time may be too short, as clocks are corrected now and then
        _least[threads] = min(least_known(threads), sorted(found)[len(found) // TENTH])
    return {VARIABLE: str(least_known(threads))}


_least: dict[int, float] = {}
"""The least time of a probe so far, by the number of threads."""
