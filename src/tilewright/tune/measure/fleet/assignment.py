"""Tasks of a pool, and the workers that have them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from tilewright.error import TVMError
from tilewright.tune.measure.fleet.cluster import Actor, Greeting
from tilewright.tune.measure.interfaces import ErrorKind


class TaskLostError(Exception):
    """Each worker that had the task died or hung.

    Attributes:
        kind: ``"crash"`` or ``"timeout"``, as in results.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


class PoolClosedError(TVMError):
    """Nobody wants the answer any more."""


class Task:
    """What a worker has to do.

    Args:
        method: of the worker.
        argument: makes the argument when the task is sent.
        seconds: how long the worker may take; one that takes longer hangs.
        worker: who should do it if possible; others do it if this one is lost.
    """

    def __init__(
        self,
        method: str,
        argument: Callable[[], Any],
        seconds: float,
        worker: Worker | None = None,
    ) -> None:
        self.method, self.argument, self.seconds = method, argument, seconds
        self.worker = worker
        self.losses: list[tuple[ErrorKind, str]] = []
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Worker:
    """A place for a worker; who dies there is replaced.

    Attributes:
        actor: who is there; None while nobody is.
        greeting: what that one, or the last one, has said.
        is_starting: whether somebody is on the way.
        absence: why nobody is there.
        tasks: what it was given, the oldest first, with the jobs that wait for the answers.
        own: what waits for this worker and no other.
    """

    def __init__(self) -> None:
        self.actor: Actor | None = None
        self.greeting: Greeting | None = None
        self.is_starting = False
        self.absence = ""
        self.tasks: dict[Task, asyncio.Task[None]] = {}
        self.own: deque[Task] = deque()

    @property
    def is_there(self) -> bool:
        """Whether it can be given tasks."""
        return self.actor is not None

    @property
    def host(self) -> str:
        """The machine, for messages."""
        return "an unknown machine" if self.greeting is None else self.greeting.host
