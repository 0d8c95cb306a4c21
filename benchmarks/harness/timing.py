"""Timing calls in turns, so that all of them see the same machine."""

from __future__ import annotations

import gc
import glob
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from benchmarks.harness.contention import least_known, probe_of
from benchmarks.suite.work import Call

Clock: TypeAlias = Callable[[], int]
"""Nanoseconds."""
Run: TypeAlias = Callable[[int], "Sample"]
"""Times a number of calls."""

MAX_CALLS: Final = 1_000_000
VERY_LONG: Final = 0.2
"""Seconds of a call that is not warmed up."""
DISTURBED: Final = 0.02
"""The share of the time without a processor from which on a sample is disturbed."""
SHARED: Final = 1.2
"""A loop of arithmetic that takes so many times its least time shares the core with another."""
LEAST_QUIET: Final = 5
"""Rounds that are enough for a median."""
SLICE: Final = 0.002
"""Seconds of sleep between two looks at whether other threads still run."""


class Sample(NamedTuple):
    """Seconds per call, on the average of one batch of calls."""

    wall: float
    cpu: float
    delay: float = 0.0
    """For which threads of this process waited for a processor."""
    probe: float = 0.0
    """What a fixed loop of arithmetic took before the batch or after it, at most."""

    def disturbed(self, threads: int, least_probe: float) -> bool:
        """Whether other programs took so much that the times say little.

        On one thread they are times of the processor: waiting for it does not count.
        """
        waited = threads > 1 and self.delay > DISTURBED * self.wall
        return waited or self.probe > SHARED * least_probe


def cpu_clock(threads: int) -> Clock:
    """Time of the processor: of this thread where it is alone, otherwise of the process."""
    return time.thread_time_ns if threads == 1 else time.process_time_ns


def batch(call: Call, number: int, threads: int) -> Sample:
    """`number` calls, on so many threads."""
    repeats = itertools.repeat(None, number)
    clock = cpu_clock(threads)
    probe = probe_of(threads)
    before = probe()
    delay = run_delay()
    cpu = clock()
    wall = time.perf_counter_ns()
    for _ in repeats:
        call()
    wall = time.perf_counter_ns() - wall
    cpu = clock() - cpu
    delay = run_delay() - delay
    slowest = max(before, probe())
    return Sample(wall / number * 1e-9, cpu / number * 1e-9, delay / number * 1e-9, slowest)


def run_delay() -> int:
    """Nanoseconds that threads of this process were ready to run but had no processor.

    Only Linux says; elsewhere it is 0.
    """
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with suppress(OSError, ValueError, IndexError), open(path, encoding="ascii") as stream:
            total += int(stream.read().split()[1])
    return total


class Pace(NamedTuple):
    """How a call is timed."""

    number: int
    """Calls of a batch."""
    seconds: float
    """One call takes about this long."""


def find_pace(call: Call, batch_seconds: float) -> Pace:
    """So many calls that they take at least `batch_seconds`."""
    return pace_of(lambda number: batch(call, number, 1), batch_seconds)


def pace_of(run: Run, batch_seconds: float) -> Pace:
    """The same of what times calls itself."""
    number = 1
    while True:
        seconds = run(number).wall
        if seconds * number >= batch_seconds or number >= MAX_CALLS:
            return Pace(number, seconds)
        growth = 1.2 * batch_seconds / max(seconds * number, 1e-7)
        number = min(MAX_CALLS, max(number + 1, int(number * min(growth, 10.0))))


def interleave(
    calls: Sequence[Call],
    rounds: int,
    threads: int = 1,
    batch_seconds: float = 0.01,
    limit: float = float("inf"),
    least: int = 3,
) -> list[list[Sample]]:
    """Samples of each call, one a round; every other round goes through the calls backwards.

    Args:
        rounds: how many; fewer if they would take longer than `limit` seconds, but not fewer than
            `least`.
        threads: if more than one, threads of one call may still wait actively for work when the
            next begins; it begins only when they sleep, and with a run that is not timed.
        batch_seconds: what a batch of calls takes at least; short ones are repeated.

    Rounds that other programs disturb are repeated, up to three times `rounds` in all, and left out
    if enough others remain.
    """
    paces = [find_pace(call, batch_seconds) for call in calls]
    runs = [partial(_run, call, threads) for call in calls]
    return in_turns(runs, paces, rounds, threads, limit, least)


def _run(call: Call, threads: int, number: int) -> Sample:
    return batch(call, number, threads)


def in_turns(
    runs: Sequence[Run],
    paces: Sequence[Pace],
    rounds: int,
    threads: int = 1,
    limit: float = float("inf"),
    least: int = 3,
) -> list[list[Sample]]:
    """The samples of `interleave`, of what times calls itself, each at its pace."""
    samples: list[list[Sample]] = [[] for _ in runs]
    start = time.perf_counter()
    with no_collection():
        for completed in range(3 * rounds):
            if len(quiet_rounds(samples, threads)) >= rounds:
                break
            elapsed = time.perf_counter() - start
            if completed >= least and elapsed / completed * (completed + 1) > limit:
                break
            order = range(len(runs)) if completed % 2 == 0 else reversed(range(len(runs)))
            for side in order:
                if threads > 1:
                    wait_for_other_threads()
                run, pace = runs[side], paces[side]
                # What the other left in the caches does not matter for one long call, and neither
                # does the time of waking threads for a very long one.
                if pace.number > 1 or (threads > 1 and pace.seconds < VERY_LONG):
                    run(1)
                samples[side].append(run(pace.number))
    quiet = quiet_rounds(samples, threads)
    if len(quiet) < min(rounds, LEAST_QUIET):
        return samples
    return [[side[position] for position in quiet] for side in samples]


def quiet_rounds(samples: Sequence[Sequence[Sample]], threads: int) -> list[int]:
    """The rounds in which other programs left all sides their processors."""
    least = min((sample.probe for side in samples for sample in side), default=0.0)
    least = min(least, least_known(threads))
    return [
        position
        for position, sides in enumerate(zip(*samples, strict=True))
        if not any(sample.disturbed(threads, least) for sample in sides)
    ]


def wait_for_other_threads(limit: float = 0.05) -> None:
    """Sleep until no other thread of this process runs, for at most `limit` seconds."""
    for _ in range(round(limit / SLICE)):
        before = time.process_time()
        time.sleep(SLICE)
        if time.process_time() - before < SLICE / 10:
            return


@contextmanager
def no_collection() -> Iterator[None]:
    """No garbage is collected in the scope."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
