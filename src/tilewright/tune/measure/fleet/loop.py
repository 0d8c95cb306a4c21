"""A thread in which pools work."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from tilewright.tune.measure.interfaces import Future

T = TypeVar("T")


class Loop(Protocol):
    """Where the coroutines of a fleet run."""

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin to run a coroutine."""
        ...

    def as_completed(self, futures: Sequence[Future[T]]) -> Iterator[Future[T]]:
        """The futures in the order in which their results come."""
        ...

    def call(self, function: Callable[[], None]) -> None:
        """Call a function in the thread of the loop."""
        ...

    def close(self) -> None:
        """There will be no more coroutines."""
        ...


class LoopThread:
    """A thread with a loop of asyncio. It does not keep Python from ending."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tilewright-fleet", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        self._loop.close()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Begin to run a coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def as_completed(self, futures: Sequence[Any]) -> Iterator[Any]:
        """The futures in the order in which their results come."""
        return concurrent.futures.as_completed(futures)

    def call(self, function: Callable[[], None]) -> None:
        """Call a function in the thread of the loop, and wait for it."""

        async def coroutine() -> None:
            function()

        self.start(coroutine()).result()

    def close(self) -> None:
        """End the thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(1.0)
