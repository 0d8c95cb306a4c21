"""A thread that does one thing after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class CancelledError(Exception):
    """The thread was closed before the result was there."""


class Task(Generic[T]):
    """Something to do, and its result."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._done = threading.Event()
        self._result: T | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it."""
        try:
            self._result = self._function()
        except BaseException as error:
            self._error = error
        self._done.set()

    def cancel(self) -> None:
        """Never do it."""
        self._error = CancelledError()
        self._done.set()

    def done(self) -> bool:
        """Whether there is a result."""
        return self._done.is_set()

    def result(self) -> T:
        """The result, for which it waits.

        Raises:
            CancelledError: if there will be none.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


class SerialThread:
    """Does what is submitted, in that order.

    The thread starts with the first task and does not keep Python from ending.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.is_closed = False

    def submit(self, function: Callable[[], T]) -> Task[T]:
        """Do this after all that was submitted before."""
        task = Task(function)
        with self._lock:
            if self.is_closed:
                task.cancel()
                return task
            self._tasks.put(task)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
        return task

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self.is_closed:
                task.cancel()
            else:
                task.run()

    def close(self, seconds: float = 1.0) -> None:
        """Cancel what has not begun, and wait for the rest."""
        with self._lock:
            self.is_closed = True
            self._tasks.put(None)
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)
