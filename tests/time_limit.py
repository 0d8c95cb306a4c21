"""A limit to what one random example may take, so that one that hangs is found and told.

An example that computes for too long in Python is ended by a signal, and fails with what was being
tried. One that never comes back from native code cannot be ended so: the process dies some time
later, with the Python stack on the standard error of the test run. What was being tried then is in
a file, `last_words`, which the main process of pytest-xdist prints when a worker has died.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

COMPUTING = 30.0
"""How many seconds of computing (not of waiting for a processor) one example may take."""

WAITING = 300.0
"""After how many seconds in all the process dies."""

LOUD: list[IO[str]] = []
"""The standard error of the test run, if pytest catches that of the tests."""


class TakesTooLongError(BaseException):
    """An example takes too long; no handler of exceptions in between may take it for its own."""


@contextmanager
def time_limit(computing: float = COMPUTING, waiting: float = WAITING) -> Iterator[None]:
    """Within the scope, only so much time may pass. The main thread alone can enter it.

    Args:
        computing: the seconds of processor time after which the error is raised.
        waiting: the seconds after which the process ends.

    Raises:
        TakesTooLongError: after that; again every few seconds, should somebody catch it.
    """
    before = signal.signal(signal.SIGPROF, _give_up)
    faulthandler.dump_traceback_later(waiting, exit=True, **({"file": LOUD[0]} if LOUD else {}))
    signal.setitimer(signal.ITIMER_PROF, computing, 5.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


def _give_up(*_: Any) -> None:
    raise TakesTooLongError


# --- last words -----------------------------------------------------------------------------


class LastWords:
    """What this process is trying, in a file that outlives it."""

    def __init__(self) -> None:
        self._file: int | None = None

    def begin(self, text: str) -> None:
        """Forget what was said before, and say this."""
        if self._file is None:
            path = last_words_of(os.environ.get("PYTEST_XDIST_WORKER", "main"), _run_id())
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        self.add(text)

    def add(self, text: str) -> None:
        """Say more."""
        assert self._file is not None
        os.write(self._file, f"{text}\n".encode())


LAST_WORDS = LastWords()


def last_words_of(worker: str, run: str) -> Path:
    """The file with the last words of a worker (or of ``main``) in a run of pytest."""
    return Path(tempfile.gettempdir(), f"tilewright-tests-{run}-{worker}.txt")


def _run_id() -> str:
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
