"""A clock that does not wait: while nothing else is to be done, it goes on to the next event."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any


class _SkippingSelector(selectors.DefaultSelector):
    """Instead of waiting for so many seconds, it counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("nothing will ever happen again")
        self.now += max(timeout, 0.0)
        return super().select(0)


class _VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _SkippingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


class VirtualFuture:
    """A result that may not be there yet; waiting for it lets time pass."""

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
        self._loop, self.task = loop, task

    def done(self) -> bool:
        """Whether it is there."""
        return self.task.done()

    def result(self) -> Any:
        """The result, for which it waits."""
        return self._loop.run_until_complete(self.task)

    def cancel(self) -> bool:
        """Nobody waits for it."""
        return self.task.cancel()


class VirtualLoop:
    """A `tilewright.tune.measure.fleet.loop.Loop` of virtual time, in the thread of its user."""

    def __init__(self) -> None:
        self._loop = _VirtualTimeLoop()

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._loop.time()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._loop.run_until_complete(asyncio.sleep(seconds))

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> VirtualFuture:
        """Begin to run a coroutine."""
        return VirtualFuture(self._loop, self._loop.create_task(coroutine))

    def as_completed(self, futures: Sequence[VirtualFuture]) -> Iterator[VirtualFuture]:
        """The futures in the order in which their results come."""
        pending = {future.task: future for future in futures}
        while pending:
            done, _ = self._loop.run_until_complete(
                asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            )
            for task in sorted(done, key=[*pending].index):
                yield pending.pop(task)

    def call(self, function: Callable[[], None]) -> None:
        """Call a function; jobs that it cancels have ended then."""
        function()
        self.sleep(0)

    def close(self) -> None:
        """End all that is still going on."""
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self.sleep(0)
        self._loop.close()
