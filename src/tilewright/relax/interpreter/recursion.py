"""Room for graphs whose loops are written as recursion."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RECURSION_LIMIT: Final = 12_000
"""Frames of Python that a run may need; a loop as recursion needs about 12 for each step."""


class _Runs:
    """The runs that need room now, in all threads: Python has one limit for them all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.limit_before = 0


_RUNS: Final = _Runs()


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Within the scope, functions of Python may nest deeply."""
    with _RUNS.lock:
        if _RUNS.count == 0:
            _RUNS.limit_before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_RUNS.limit_before, RECURSION_LIMIT))
        _RUNS.count += 1
    try:
        yield
    finally:
        with _RUNS.lock:
            _RUNS.count -= 1
            if _RUNS.count == 0:
                sys.setrecursionlimit(_RUNS.limit_before)
