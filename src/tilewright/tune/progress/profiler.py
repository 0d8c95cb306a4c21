"""Where the time of a tuning run goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

TOTAL = "Total"


class Profiler:
    """Adds up the time of the phases of all tuning runs inside ``with Profiler() as profiler:``.

    Phases are marked by `timeit`; those inside of others are counted in both.
    """

    _active: ClassVar[list[Profiler]] = []

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._started = self._stopped = 0.0

    def __enter__(self) -> Profiler:
        Profiler._active.append(self)
        self._started = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = time.perf_counter()
        Profiler._active.remove(self)

    def get(self) -> dict[str, float]:
        """Seconds by phase, and of everything under ``"Total"``."""
        stopped = time.perf_counter() if self in Profiler._active else self._stopped
        return {**self._seconds, TOTAL: stopped - self._started}

    def table(self) -> str:
        """The phases, their times and shares, the longest first."""
        seconds = self.get()
        total = seconds[TOTAL]
        rows = sorted(seconds.items(), key=lambda item: -item[1])
        width = max(len(name) for name, _ in rows)
        lines = [f" {'Name':<{width}} | Time (s) | Percentage", "-" * (width + 25)]
        lines += [
            f" {name:<{width}} | {spent:8.3f} | {100 * spent / total if total else 0:9.2f}%"
            for name, spent in rows
        ]
        return "\n".join(lines)

    @staticmethod
    def current() -> Profiler | None:
        """The innermost profiler that is at work."""
        return Profiler._active[-1] if Profiler._active else None

    @staticmethod
    @contextmanager
    def timeit(name: str) -> Iterator[None]:
        """Count the time inside ``with Profiler.timeit(name):``, if a profiler is at work."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            for profiler in Profiler._active:
                profiler._seconds[name] = profiler._seconds.get(name, 0.0) + spent
