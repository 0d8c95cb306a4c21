"""The user's side of the child process that runs candidates."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from tilewright.error import TVMError
from tilewright.tune.measure.process import Child, ChildDiedError, ChildTimeoutError
from tilewright.tune.measure.process.requests import dumps
from tilewright.tune.measure.run_requests import RunSettings

ROLE: Final = "tilewright.tune.measure.run_worker:main"

START_LIMIT: Final = 60.0
"""Seconds that an `initializer` may take."""


class RunSession:
    """Has a child for as long as it lives, and then another one.

    Args:
        settings: what to send to a child first; depends on whether candidates run on one core.
    """

    def __init__(self, settings: Callable[[bool], RunSettings]) -> None:
        self._settings = settings
        self._child: Child | None = None
        self._single = False
        self._lock = threading.Lock()
        self._is_closed = False
        self.answered = 0
        """How many requests this child has answered."""

    def ask(self, request: Any, single: bool, seconds: float) -> dict[str, Any]:
        """The answer of the child to a request of `run_requests`.

        Args:
            request: to send.
            single: whether candidates run on one core.
            seconds: how long to wait.

        Raises:
            ChildDiedError: if the child dies of it.
            ChildTimeoutError: if there is no answer in time; the child is dead then.
        """
        if self._child is None or not self._child.is_alive or self._single != single:
            self._start(single)
        assert self._child is not None
        answer = self._child.ask(dumps(request), seconds)
        self.answered += 1
        return answer

    def _start(self, single: bool) -> None:
        if self._child is not None:
            self._child.end()
        child = Child(ROLE)
        with self._lock:
            if self._is_closed:
                raise ChildDiedError(child.end())
            self._child, self._single, self.answered = child, single, 0
        try:
            answer = child.ask(dumps(self._settings(single)), START_LIMIT)
        except (ChildDiedError, ChildTimeoutError) as error:
            raise TVMError(f"LocalRunner: no process for running starts: {error}") from None
        if "error_msg" in answer:
            child.end()
            raise TVMError(f"LocalRunner: initializer: {answer['error_msg']}")

    def close(self) -> None:
        """Kill the child; a request that another thread makes ends with `ChildDiedError`."""
        with self._lock:
            self._is_closed = True
            if self._child is not None:
                self._child.kill()

    def end(self) -> None:
        """Free what the last child had."""
        if self._child is not None:
            self._child.end()
