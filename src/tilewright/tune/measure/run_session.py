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

    All methods but `close` are for one thread.

    Args:
        settings: what to send to a child first; depends on whether candidates run on one core.

    Attributes:
        single: whether the child is for candidates that run on one core.
        answered: how many requests the child has answered.
    """

    def __init__(self, settings: Callable[[bool], RunSettings]) -> None:
        self._settings = settings
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        self.single = False
        self.answered = 0

    def start(self, single: bool) -> None:
        """See that there is a child for candidates that run on one core, or for others.

        Raises:
            TVMError: if it does not start.
        """
        if self._child is not None and self._child.is_alive and self.single == single:
            return
        self.end()
        child = Child(ROLE)
        with self._lock:
            self._child, self.single, self.answered = child, single, 0
            if self._is_closed:
                child.kill()
        try:
            answer = child.ask(dumps(self._settings(single)), START_LIMIT)
        except (ChildDiedError, ChildTimeoutError) as error:
            raise TVMError(f"LocalRunner: no process for running starts: {error}") from None
        if "error_msg" in answer:
            child.end()
            raise TVMError(f"LocalRunner: initializer: {answer['error_msg']}")

    def send(self, request: Any) -> None:
        """Send a request of `run_requests`.

        Raises:
            ChildDiedError: if the child is dead.
        """
        assert self._child is not None
        self._child.send(dumps(request))

    def receive(self, deadline: float) -> dict[str, Any]:
        """The answer to the oldest request that has none.

        Raises:
            ChildDiedError: if the child dies of it.
            ChildTimeoutError: if there is no answer in time; the child is dead then.
        """
        assert self._child is not None
        answer = self._child.receive(deadline)
        self.answered += 1
        return answer

    def close(self) -> None:
        """Kill the child, from any thread; whoever waits for an answer learns of it."""
        with self._lock:
            self._is_closed = True
            if self._child is not None:
                self._child.kill()

    def end(self) -> None:
        """Be without a child."""
        if self._child is not None:
            self._child.end()
