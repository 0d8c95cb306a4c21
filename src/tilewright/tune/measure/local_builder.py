"""Building in several processes of this machine."""

from __future__ import annotations

import math
import selectors
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.error import ArgumentValueError, TVMError, require_at_least
from tilewright.processes import (
    Child,
    ChildDiedError,
    ChildTimeoutError,
)
from tilewright.processes.interrupts import deferred
from tilewright.processes.requests import (
    CallableOrName,
    dumps,
    error_text,
    portable,
)
from tilewright.tune.measure.affinity import other_cores
from tilewright.tune.measure.build_worker import BuildRequest, BuildSettings
from tilewright.tune.measure.children import BUILDING, fork_server
from tilewright.tune.measure.interfaces import (
    BUILDERS,
    BuilderInput,
    BuilderResult,
    StreamingBuilder,
)

START_LIMIT = 60.0
"""Seconds that an `initializer` may take."""


class _Build(NamedTuple):
    """A build that a child works on: which one, since when, and how long it may take."""

    position: int
    start: float
    limit: float
    cpu_limit: float

    @property
    def deadline(self) -> float:
        """When it is given up."""
        return self.start + self.limit


@BUILDERS.add("local")
class LocalBuilder(StreamingBuilder):
    """Builds in processes of this machine.

    A candidate that takes too long to build, or breaks the compiler, costs its process, which is
    replaced.

    Args:
        max_workers: number of processes; by default one per core that is not needed for timing.
        timeout_sec: how long one candidate may take.
        f_build: ``f_build(mod, target, params)`` makes a module; by default `tvm.build` without a
            default schedule. It is sent to other processes, with the variables around it that it
            uses. Or the name under which `initializer` registers one there.
        f_export: ``f_export(module)`` writes the module and returns the path of the file; by
            default it writes object code, in a new directory for each.
        initializer: called once in each process.
    """

    def __init__(
        self,
        *,
        max_workers: int | None = None,
        timeout_sec: float = 30.0,
        f_build: CallableOrName | None = None,
        f_export: CallableOrName | None = None,
        initializer: CallableOrName | None = None,
    ) -> None:
        if max_workers is not None:
            require_at_least("LocalBuilder: max_workers", max_workers, 1)
        if not timeout_sec > 0:
            raise ArgumentValueError(f"LocalBuilder: timeout_sec is positive, got {timeout_sec}")
        self.max_workers = max_workers
        self.timeout_sec = timeout_sec
        self._settings = {
            "f_build": portable(f_build, "LocalBuilder: f_build", initializer),
            "f_export": portable(f_export, "LocalBuilder: f_export", initializer),
            "initializer": portable(initializer, "LocalBuilder: initializer"),
        }
        self._idle: list[Child] = []
        self._finalizer = weakref.finalize(self, _end_all, self._idle)
        fork_server()  # starts in the background

    def stream(self, build_inputs: Sequence[BuilderInput]) -> Iterator[tuple[int, BuilderResult]]:
        """The results with the positions of their inputs, each as soon as it arrives."""
        waiting = deque(enumerate(build_inputs))
        count = min(self._count_workers(build_inputs), len(waiting))
        with selectors.DefaultSelector() as selector:
            busy: dict[Child, _Build] = {}
            try:
                while waiting or busy:
                    while waiting and len(busy) < count:
                        position, build_input = waiting.popleft()
                        try:
                            request = _request(build_input)
                        except Exception as error:  # a module that cannot be pickled
                            yield position, BuilderResult(None, error_text(error), "build")
                            continue
                        with deferred():
                            child = self._give(request)
                            busy[child] = self._build(position, build_input)
                            selector.register(child, selectors.EVENT_READ)
                    for child in self._ready(selector, busy):
                        with deferred():
                            selector.unregister(child)
                            job = busy.pop(child)
                            result = self._receive(child, job)
                        yield job.position, result
            finally:
                with deferred():
                    for child in busy:  # nobody wants their results
                        child.end()

    def close(self) -> None:
        """End the processes."""
        _end_all(self._idle)

    def _build(self, position: int, build_input: BuilderInput) -> _Build:
        now = time.monotonic()
        limit = max(min(self.timeout_sec, build_input.deadline - now), 0.0)
        return _Build(position, now, limit, build_input.cpu_seconds)

    def _count_workers(self, build_inputs: Sequence[BuilderInput]) -> int:
        if self.max_workers is not None:
            return self.max_workers
        return max((len(_cores(item)) for item in build_inputs), default=1) or 1

    def _give(self, request: bytes) -> Child:
        """Give a build to an idle child, or to a new one."""
        while True:
            child = self._idle.pop() if self._idle else self._start()
            try:
                child.send(request)
            except ChildDiedError:  # while it was idle
                continue
            return child

    def _start(self) -> Child:
        server = fork_server()
        child = Child(f"{BUILDING}:main", server)
        settings = BuildSettings(server.directory, **self._settings)
        try:
            answer = child.ask(dumps(settings), START_LIMIT)
        except (ChildDiedError, ChildTimeoutError) as error:
            raise TVMError(f"LocalBuilder: no process for building starts: {error}") from None
        if "error_msg" in answer:
            child.end()
            raise TVMError(f"LocalBuilder: initializer: {answer['error_msg']}")
        return child

    def _ready(self, selector: Any, busy: dict[Child, _Build]) -> list[Child]:
        """The children that have an answer, are dead, or late."""
        if not busy:
            return []
        until = min(job.deadline for job in busy.values())
        events = selector.select(max(until - time.monotonic(), 0))
        if events:
            return [key.fileobj for key, _ in events]
        now = time.monotonic()
        return [child for child, job in busy.items() if now >= job.deadline]

    def _receive(self, child: Child, job: _Build) -> BuilderResult:
        """What a child answers that should have an answer by now."""
        try:
            answer = child.receive(job.deadline)
        except ChildTimeoutError:
            return BuilderResult(
                None,
                f"building took longer than {job.limit:.3g} s",
                "build-timeout",
                time.monotonic() - job.start,
            )
        except ChildDiedError as error:
            death = error.death
            seconds = time.monotonic() - job.start
            if death.kind == "timeout":
                message = f"building took more than {job.cpu_limit:.3g} s of processor time"
                return BuilderResult(None, message, "build-timeout", seconds)
            return BuilderResult(None, f"building: {death.message}", death.kind, seconds)
        self._idle.append(child)
        message, seconds = answer.get("error_msg"), answer["seconds"]
        if message is not None:
            return BuilderResult(None, message, "build", seconds)
        cpu_seconds = answer["cpu_seconds"]
        return BuilderResult(answer["path"], seconds=seconds, cpu_seconds=cpu_seconds)


def _request(build_input: BuilderInput) -> bytes:
    target = build_input.target.export()
    limit = build_input.cpu_seconds if math.isfinite(build_input.cpu_seconds) else 0.0
    cores = _cores(build_input)
    return dumps(BuildRequest(build_input.mod, target, build_input.params, cores, limit))


def _cores(build_input: BuilderInput) -> frozenset[int]:
    return other_cores(build_input.target.num_cores)


def _end_all(children: list[Child]) -> None:
    while children:
        children.pop().end()
