"""Interrupts (Ctrl-C) that end a tuning run without losing or spoiling results.

The first interrupt raises `KeyboardInterrupt`, as ever, with two exceptions:

* within `deferred`, where a step must not be done by halves, it is raised at the end of the step;
* Python drops an exception that comes up while an object is finalized or a callback of C runs. Such
  an interrupt is noted, and raised again at the next `Interrupts.check`.

Every further interrupt is raised at once, wherever it comes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import ClassVar


class Interrupts:
    """A ``with`` statement in which interrupts are noted.

    Inside of another one it is the same as that. It changes nothing outside of the main thread, or
    where the program has a handler of its own.

    Attributes:
        count: number of interrupts so far.
    """

    _active: ClassVar[Interrupts | None] = None

    def __init__(self) -> None:
        self.count = 0
        self._depth = 0
        self._is_pending = False
        self._is_installed = False

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is not threading.main_thread():
            return self
        if Interrupts._active is not None:
            return Interrupts._active
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            Interrupts._active = self
            self._is_installed = True
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            Interrupts._active = None
            self._is_installed = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1
        self._is_pending = True
        if self._depth == 0 or self.count > 1:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if one came, and was lost or deferred."""
        if self._is_pending and self._depth == 0:
            self._is_pending = False
            raise KeyboardInterrupt

    def settle(self) -> None:
        """End the run in good order after a `KeyboardInterrupt`, which is being handled.

        Raises:
            KeyboardInterrupt: again, if it is not the first one.
        """
        self._is_pending = False
        if self.count > 1:
            raise

    @contextmanager
    def deferral(self, raises: bool = True) -> Iterator[None]:
        """See `deferred`.

        Args:
            raises: whether to raise an interrupt at the end; otherwise the next `check` does.
        """
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        if raises:
            self.check()


@contextmanager
def deferred() -> Iterator[None]:
    """Within the scope, a first interrupt waits for the end of the scope.

    It is for steps that take milliseconds, such as a request with its answer.
    """
    with Interrupts() as interrupts, interrupts.deferral():
        yield
