"""A pool that is opened when it is first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tilewright.error import ArgumentValueError
from tilewright.tune.measure.fleet.loop import Loop
from tilewright.tune.measure.fleet.pool import Pool


class LazyPool:
    """A pool that depends on how many cores candidates use.

    Args:
        loop: where the pool works.
        make: makes the pool for candidates that use a number of cores.
        purpose: whose it is, for messages.
        cores: the number of cores that the workers are for; None for that of the first candidate.
    """

    def __init__(
        self, loop: Loop, make: Callable[[int], Pool], purpose: str, cores: int | None
    ) -> None:
        self.loop = loop
        self._make, self._purpose, self._cores = make, purpose, cores
        self._pool: Pool | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_closed = False

    async def get(self, num_cores: int) -> Pool:
        """The pool, opened.

        Args:
            num_cores: how many cores a candidate uses.

        Raises:
            ArgumentValueError: if these are more than the workers have.
            TVMError: if the pool cannot be opened.
        """
        if self._opening is None:
            self._cores = num_cores if self._cores is None else self._cores
            self._pool = self._make(self._cores)
            self._opening = asyncio.get_running_loop().create_task(self._pool.open())
        await asyncio.shield(self._opening)
        assert self._pool is not None
        assert self._cores is not None
        if num_cores > self._cores:
            raise ArgumentValueError(
                f"{self._purpose}: candidates use {num_cores} cores, but each worker has "
                f"{self._cores}; give cores={num_cores}, or a target with -num-cores={self._cores}"
            )
        return self._pool

    def open(self, num_cores: int) -> Pool:
        """The same, from another thread."""
        return self.loop.start(self.get(num_cores)).result()

    def close(self) -> None:
        """End the workers."""
        if not self._is_closed:
            self._is_closed = True
            self.loop.call(self._close)

    def _close(self) -> None:
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
        if self._pool is not None:
            self._pool.close()
