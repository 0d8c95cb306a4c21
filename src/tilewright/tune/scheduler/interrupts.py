"""Interrupts (Ctrl-C) that are not lost.

Python drops an exception that comes up while an object is finalized or a callback of C runs, and
so the `KeyboardInterrupt` of a user, too. It is noted here, and raised again at the next check.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import NoReturn


class Interrupts:
    """A ``with`` statement in which interrupts are noted.

    It changes nothing outside of the main thread, or where the program has a handler of its own.
    """

    def __init__(self) -> None:
        self._came = False
        self._is_installed = False

    def __enter__(self) -> Interrupts:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._is_installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        self._came = True
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if one came, and was lost."""
        if self._came:
            self._came = False
            raise KeyboardInterrupt
