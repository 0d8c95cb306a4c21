"""Workers of one role, the tasks that wait for them, and what happens when one is lost."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from tilewright.error import TVMError
from tilewright.processes.requests import dumps
from tilewright.tune.measure.fleet.assignment import (
    PoolClosedError,
    Task,
    TaskLostError,
    Worker,
)
from tilewright.tune.measure.fleet.cluster import Cluster, Role, WorkerLostError
from tilewright.tune.measure.fleet.recruiting import Recruiter, kind_of
from tilewright.tune.measure.interfaces import ErrorKind

ATTEMPTS: Final = 3
"""Number of workers that a task may take with it before it counts as the reason."""

START_LIMIT: Final = 120.0
"""Seconds until a worker has to be there."""

logger = logging.getLogger(__name__)


class Pool:
    """Workers on machines of one kind. All methods are for the thread of the loop.

    Each worker is given as many tasks as its role has room for; the others wait. A worker that dies
    or hangs is replaced, and its tasks go to others. The task that was the reason, as far as one
    can tell, is not tried by more than `ATTEMPTS` workers.

    Args:
        cluster: starts the workers.
        role: what they do.
        count: how many there are to be.
        machine: part of the name of the CPU of machines that may take part; None for all, which
            have to be of one kind then.
        start_limit: seconds until a worker has to be there.

    Attributes:
        role: what the workers do.
        workers: those that are there, and places for those that are not.
    """

    def __init__(
        self,
        cluster: Cluster,
        role: Role,
        count: int,
        machine: str | None = None,
        start_limit: float = START_LIMIT,
    ) -> None:
        self.role = role
        self.workers = [Worker() for _ in range(count)]
        self._cluster = cluster
        self._recruiter = Recruiter(cluster, role, machine, start_limit)
        self._waiting: deque[Task] = deque()
        self._background: set[asyncio.Task[None]] = set()
        self._error: TVMError | None = None

    async def open(self) -> None:
        """Start the workers.

        Raises:
            TVMError: if none can be started, versions differ, or machines of several kinds.
        """
        try:
            await asyncio.gather(
                *[self._begin(self._recruiter.start(worker)) for worker in self.workers]
            )
            kinds = {kind_of(w.greeting) for w in self.workers if w.is_there and w.greeting}
            if not kinds:
                raise TVMError(f"no worker of the fleet starts: {self.workers[0].absence}")
            if len(kinds) > 1:
                raise TVMError(
                    "the workers are on machines of several kinds, whose times cannot be compared: "
                    f"{', '.join(sorted(kinds))}; name one by `machine`, or choose by `resources`"
                )
        except BaseException:
            self.close()
            raise
        (self._recruiter.kind,) = kinds

    @property
    def machine(self) -> Mapping[str, Any]:
        """One of its machines, as a record names it."""
        return next(w.greeting.machine for w in self.workers if w.greeting is not None)

    async def do(
        self,
        method: str,
        argument: Callable[[], Any],
        seconds: float,
        worker: Worker | None = None,
    ) -> Any:
        """What a worker answers to a task; see `Task`.

        Raises:
            TaskLostError: if no worker survived the task.
            TVMError: if there are no workers any more.
        """
        if self._error is not None:
            raise self._error
        task = Task(method, argument, seconds, worker)
        self._put(task)
        return await task.answer

    def close(self) -> None:
        """End the workers; what they have not done is cancelled."""
        self._fail(PoolClosedError("the fleet was closed"))
        for job in list(self._background):
            job.cancel()
        for worker in self.workers:
            if worker.actor is not None:
                self._cluster.end(worker.actor)
                worker.actor = None

    # --- who does what ------------------------------------------------------------------------

    def _put(self, task: Task) -> None:
        """Give a task to a worker, or let it wait."""
        if task.worker is not None and task.worker.is_there:
            task.worker.own.append(task)
            self._fill(task.worker)
            return
        self._waiting.append(task)
        self._share()

    def _share(self) -> None:
        """Give what waits to workers that have room, to those with the least to do first."""
        while self._waiting:
            free = [w for w in self.workers if w.is_there and len(w.tasks) < self.role.room]
            if not free:
                return
            self._give(min(free, key=lambda worker: len(worker.tasks)), self._waiting.popleft())

    def _fill(self, worker: Worker) -> None:
        """Give a worker what it has room for."""
        while worker.is_there and len(worker.tasks) < self.role.room:
            waiting = worker.own or self._waiting
            if not waiting:
                return
            self._give(worker, waiting.popleft())

    def _give(self, worker: Worker, task: Task) -> None:
        if not task.answer.done():  # nobody may want it any more
            ahead = [*worker.tasks] if self.role.parallel == 1 else []
            limit = task.seconds + sum(one.seconds for one in ahead)
            worker.tasks[task] = self._begin(self._perform(worker, task, limit))

    async def _perform(self, worker: Worker, task: Task, limit: float) -> None:
        actor = worker.actor
        assert actor is not None
        try:
            argument = dumps(task.argument())
            answer = await asyncio.wait_for(actor.call("do", task.method, argument), limit)
        except (asyncio.TimeoutError, WorkerLostError) as error:
            if worker.actor is actor:  # nobody has noticed before
                self._lose(worker, task, error, limit)
            return
        except Exception as error:
            if not task.answer.done():
                task.answer.set_exception(error)
        else:
            if not task.answer.done():
                task.answer.set_result(answer)
        worker.tasks.pop(task, None)
        self._fill(worker)

    def _begin(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        job = asyncio.get_running_loop().create_task(coroutine)
        self._background.add(job)
        job.add_done_callback(self._background.discard)
        return job

    # --- who is there -------------------------------------------------------------------------

    def _lose(self, worker: Worker, task: Task, error: Exception, limit: float) -> None:
        """Replace a worker, and have its tasks done by others.

        Args:
            worker: who is lost.
            task: what it did not answer.
            error: why not.
            limit: how long it could have taken.
        """
        kind: ErrorKind = "crash" if isinstance(error, WorkerLostError) else "timeout"
        if kind == "timeout":
            text, reasons = f"no answer within {limit:.3g} s", [task]
        else:
            text, reasons = str(error), [*worker.tasks]
        logger.warning("a worker on %s is replaced: %s", worker.host, text)
        if worker.actor is not None:
            self._cluster.end(worker.actor)
            worker.actor = None
        for reason in reasons[: self.role.parallel]:
            reason.losses.append((kind, text))
        again = []
        for task, job in worker.tasks.items():
            if job is not asyncio.current_task():
                job.cancel()
            if len(task.losses) < ATTEMPTS:
                again.append(task)
            elif not task.answer.done():
                task.answer.set_exception(_lost(task))
        worker.tasks = {}
        self._waiting.extendleft(reversed([*again, *worker.own]))
        worker.own.clear()
        self._begin(self._replace(worker))
        self._share()

    async def _replace(self, worker: Worker) -> None:
        try:
            await self._recruiter.start(worker)
        except TVMError as error:
            worker.absence = str(error)
        if worker.is_there:
            self._fill(worker)
            return
        logger.warning("a worker is not replaced: %s", worker.absence)
        if not any(other.is_there or other.is_starting for other in self.workers):
            self._fail(TVMError(f"no worker of the fleet is left: {worker.absence}"))

    def _fail(self, error: TVMError) -> None:
        """Nothing is done any more."""
        self._error = self._error or error
        for worker in self.workers:
            for task in (*worker.tasks, *worker.own):
                _give_up(task, error)
        for task in self._waiting:
            _give_up(task, error)
        self._waiting.clear()


def _lost(task: Task) -> TaskLostError:
    kind, text = task.losses[-1]
    what = "hung" if kind == "timeout" else "died"
    return TaskLostError(kind, f"{ATTEMPTS} workers {what} of it, the last one so: {text}")


def _give_up(task: Task, error: TVMError) -> None:
    if not task.answer.done():
        task.answer.set_exception(error)
