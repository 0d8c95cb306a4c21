"""Workers of one role, the tasks that wait for them, and what happens when one is lost."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from tilewright.error import TVMError
from tilewright.tune.measure.fleet.cluster import Actor, Cluster, Greeting, Role, WorkerLostError
from tilewright.tune.measure.fleet.versions import describe_difference, versions
from tilewright.tune.measure.interfaces import ErrorKind
from tilewright.tune.measure.process.requests import dumps

ATTEMPTS: Final = 3
"""Number of workers that a task may take with it before it counts as the reason."""

STARTS: Final = 3
"""How often a worker is started before its place stays empty."""

START_LIMIT: Final = 120.0
"""Seconds until a worker has to be there."""

logger = logging.getLogger(__name__)


class TaskLostError(Exception):
    """Each worker that had the task died or hung.

    Attributes:
        kind: ``"crash"`` or ``"timeout"``, as in results.
    """

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


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
        self._machine, self._kind = machine, ""
        self._start_limit = start_limit
        self._waiting: deque[Task] = deque()
        self._background: set[asyncio.Task[None]] = set()
        self._error: TVMError | None = None

    async def open(self) -> None:
        """Start the workers.

        Raises:
            TVMError: if none can be started, versions differ, or machines of several kinds.
        """
        try:
            await asyncio.gather(*[self._begin(self._start(worker)) for worker in self.workers])
            kinds = {_kind(w.greeting) for w in self.workers if w.is_there and w.greeting}
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
        (self._kind,) = kinds

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
        self._fail(TVMError("the fleet was closed"))
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
            await self._start(worker)
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

    async def _start(self, worker: Worker) -> None:
        """Start a worker, more than once if it dies.

        Raises:
            TVMError: if it is there and cannot work.
        """
        worker.is_starting = True
        predecessor = worker.greeting
        try:
            for _ in range(STARTS):
                actor = self._cluster.start(self.role, predecessor)
                try:
                    greeting = await asyncio.wait_for(self._welcome(actor), self._start_limit)
                except WorkerLostError as error:
                    worker.absence = str(error)
                    continue
                except asyncio.TimeoutError:
                    worker.absence = self._describe_missing()
                    self._cluster.end(actor)
                    return
                except BaseException:
                    self._cluster.end(actor)
                    raise
                if self._suits(greeting):
                    worker.actor, worker.greeting = actor, greeting
                else:
                    worker.absence = f"{greeting.host} has another processor: {_kind(greeting)}"
                    self._cluster.end(actor)
                return
        finally:
            worker.is_starting = False

    async def _welcome(self, actor: Actor) -> Greeting:
        """Make a host a worker."""
        greeting = await actor.call("greet")
        difference = describe_difference(greeting.versions, versions())
        if difference is not None:
            raise TVMError(
                f"the machine {greeting.host} has other versions, which may read programs and "
                f"results otherwise: {difference}; install the same on all machines"
            )
        if self._suits(greeting):
            await actor.call("open", self.role.worker, dumps(dict(self.role.options)))
        return greeting

    def _suits(self, greeting: Greeting) -> bool:
        """Whether a worker is on a machine of the right kind."""
        if self._kind:
            return _kind(greeting) == self._kind
        return self._machine is None or self._machine.lower() in _kind(greeting).lower()

    def _describe_missing(self) -> str:
        wanted = ", ".join(f"{name}: {amount:g}" for name, amount in self.role.resources.items())
        return (
            f"it is not there after {self._start_limit:g} s; perhaps no machine has {{{wanted}}} "
            "left, which is what `resources` and `cores` ask for"
        )


def _kind(greeting: Greeting) -> str:
    """What has to be the same for times to be compared."""
    machine = greeting.machine
    return f"{machine.get('cpu')} ({machine.get('llvm_cpu')})"


def _lost(task: Task) -> TaskLostError:
    kind, text = task.losses[-1]
    what = "hung" if kind == "timeout" else "died"
    return TaskLostError(kind, f"{ATTEMPTS} workers {what} of it, the last one so: {text}")


def _give_up(task: Task, error: TVMError) -> None:
    if not task.answer.done():
        task.answer.set_exception(error)
