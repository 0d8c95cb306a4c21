"""Building on machines of a fleet."""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tilewright.processes.requests import dumps, error_text
from tilewright.tune.measure.fleet.assignment import PoolClosedError, TaskLostError
from tilewright.tune.measure.fleet.opening import LazyPool
from tilewright.tune.measure.fleet.tasks import BuildTask, Built
from tilewright.tune.measure.interfaces import (
    CANCELLED,
    BuilderInput,
    BuilderResult,
    Future,
    StreamingBuilder,
)


class FleetBuilder(StreamingBuilder):
    """Builds in processes of other machines; what they build comes back as files.

    Args:
        pool: of `BuildWorker`s.
        timeout_sec: how long one candidate may take.
        grace_sec: how much longer a worker may take to say that it was too long.
    """

    is_asynchronous = True

    def __init__(self, pool: LazyPool, timeout_sec: float, grace_sec: float) -> None:
        self.timeout_sec, self.grace_sec = timeout_sec, grace_sec
        self._pool = pool
        self._directory = tempfile.mkdtemp(prefix="tilewright-fleet-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._directory, True)

    def stream(self, build_inputs: Sequence[BuilderInput]) -> Iterator[tuple[int, BuilderResult]]:
        """The results with the positions of their inputs, each as soon as it arrives."""
        futures = self.begin(build_inputs, lambda position, result: None)
        positions = {id(future): position for position, future in enumerate(futures)}
        try:
            for future in self._pool.loop.as_completed(futures):
                yield positions[id(future)], future.result()
        finally:
            for future in futures:
                future.cancel()

    def begin(
        self,
        build_inputs: Sequence[BuilderInput],
        built: Callable[[int, BuilderResult], None],
    ) -> list[Future[BuilderResult]]:
        """Begin to build; see `Builder.begin`."""
        return [
            self._pool.loop.start(self._build(item, _pickled(item), partial(built, position)))
            for position, item in enumerate(build_inputs)
        ]

    async def _build(
        self,
        item: BuilderInput,
        program: bytes | Exception,
        built: Callable[[BuilderResult], None],
    ) -> BuilderResult:
        if isinstance(program, Exception):
            result = BuilderResult(None, error_text(program), "build")
        else:
            result = await self._built(item, program)
        built(result)
        return result

    async def _built(self, item: BuilderInput, program: bytes) -> BuilderResult:
        pool = await self._pool.get(item.target.num_cores)

        def task() -> BuildTask:
            seconds = min(self.timeout_sec, item.deadline - time.monotonic())
            return BuildTask(program, item.target.export(), item.cpu_seconds, max(seconds, 0.0))

        try:
            found: Built = await pool.do("build", task, self.timeout_sec + self.grace_sec)
        except TaskLostError as error:
            kind = "build-timeout" if error.kind == "timeout" else error.kind
            return BuilderResult(None, f"building: {error}", kind)
        except PoolClosedError:
            return BuilderResult(None, "the builder was closed", CANCELLED)
        path = None if found.artifact is None else found.artifact.write(self._directory)
        return BuilderResult(
            path, found.error_msg, found.error_kind, found.seconds, found.cpu_seconds
        )

    def close(self) -> None:
        """End the workers, and delete what was built."""
        self._pool.close()
        self._finalizer()


def _pickled(item: BuilderInput) -> bytes | Any:
    """The module and the constants; the error if they cannot be pickled."""
    try:
        return dumps((item.mod, item.params))
    except Exception as error:
        return error
