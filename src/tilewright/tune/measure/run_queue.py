"""The user's side of the child process that runs candidates."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from tilewright.error import TVMError
from tilewright.processes import Child, ChildDiedError, ChildTimeoutError
from tilewright.processes.requests import dumps
from tilewright.tune.measure.children import RUNNING
from tilewright.tune.measure.run_requests import RunSettings

START_LIMIT: Final = 60.0
"""Seconds that an `initializer` may take."""


class RunSession:
    """Has a child for as long as it lives, and then another one.

    All methods but `close` are for one thread.

    Args:
        settings: what to send to a child first; depends on whether candidates run on one core.

    Attributes:
        single: whether the child is for candidates that run on one core.
        answered: number of requests that the child has answered.
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
        child = Child(f"{RUNNING}:main")
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


T = TypeVar("T")

AHEAD: Final = 2
"""Number of requests that the child has at a time: one that it works on, and the next one."""


class CancelledError(Exception):
    """The job was cancelled, or the queue closed, before the answer was there."""


Failure = ChildDiedError | ChildTimeoutError | CancelledError
"""Why there is no answer."""


class Job(Generic[T]):
    """A request, and what becomes of it.

    Args:
        request: makes the request when it is about to be sent.
        result: makes the result of the answer, or of the reason why there is none.
        single: whether it is about a candidate for one core.
        seconds: how long the child may take.
        depends: whether the request depends on answers that are not there yet.
    """

    def __init__(
        self,
        request: Callable[[], Any],
        result: Callable[[dict[str, Any] | Failure], T],
        single: bool,
        seconds: float,
        depends: Callable[[], bool] = lambda: False,
    ) -> None:
        self.request, self.single, self.seconds = request, single, seconds
        self.depends = depends
        self.has_crashed = False
        self.is_cancelled = False
        self._make_result = result
        self._done = threading.Event()
        self._result: T | None = None
        self._error: Exception | None = None

    def finish(self, answer: dict[str, Any] | Failure) -> None:
        """Here is the answer."""
        try:
            self._result = self._make_result(answer)
        except Exception as error:
            self._error = error
        self._done.set()

    def fail(self, error: Exception) -> None:
        """There will be no result, for a reason that its user has to know."""
        self._error = error
        self._done.set()

    def cancel(self) -> None:
        """Do not send the request if it was not sent."""
        self.is_cancelled = True

    def done(self) -> bool:
        """Whether the result has arrived."""
        return self._done.is_set()

    def result(self) -> T:
        """The result, for which it waits."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


class RunQueue:
    """Does jobs in the order in which they come.

    Its thread starts with the first job and does not keep Python from ending.

    Args:
        session: has the child.
    """

    def __init__(self, session: RunSession) -> None:
        self._session = session
        self._jobs: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._waiting: deque[Job[Any]] = deque()
        self._sent: deque[Job[Any]] = deque()
        self._since = 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def add(self, job: Job[T]) -> Job[T]:
        """Do this after all that was added before."""
        with self._lock:
            if self._is_closed:
                job.finish(CancelledError())
                return job
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="tilewright-runner", daemon=True
                )
                self._thread.start()
        return job

    def close(self) -> None:
        """Cancel what has no result yet, and kill the child."""
        with self._lock:
            self._is_closed = True
            self._jobs.put(None)
            thread = self._thread
        self._session.close()
        if thread is None:
            self._session.end()
        elif thread is not threading.current_thread():
            thread.join(1.0)

    # --- the thread ---------------------------------------------------------------------------

    def _work(self) -> None:
        while not self._is_closed:
            try:
                self._send_what_waits()
                if self._sent:
                    self._take_answer()
            except Exception as error:  # no child starts
                self._forget_child()
                if self._waiting:
                    self._waiting.popleft().fail(error)
        self._session.end()
        while not self._jobs.empty():
            job = self._jobs.get()
            if job is not None:
                self._waiting.append(job)
        for job in (*self._sent, *self._waiting):
            job.finish(CancelledError())

    def _send_what_waits(self) -> None:
        """Send the next job, and the one after it if the child can have both."""
        while len(self._sent) < AHEAD and not self._is_closed:
            if not self._waiting:
                if self._sent and self._jobs.empty():
                    return
                job = self._jobs.get()
                if job is None:
                    return
                self._waiting.append(job)
            job = self._waiting[0]
            if job.is_cancelled:
                self._waiting.popleft().finish(CancelledError())
                continue
            if self._sent and (job.single != self._session.single or job.depends()):
                return
            if not self._sent:
                self._session.start(job.single)
                self._since = time.monotonic()
            try:
                request = job.request()
            except Exception as error:
                self._waiting.popleft().fail(error)
                continue
            try:
                self._session.send(request)
            except ChildDiedError as error:
                if self._sent:
                    self._blame(error)
                continue  # it may have died while it had nothing to do
            self._sent.append(self._waiting.popleft())

    def _take_answer(self) -> None:
        """Take the answer to the oldest request."""
        try:
            answer = self._session.receive(self._since + self._sent[0].seconds)
        except (ChildDiedError, ChildTimeoutError) as error:
            self._blame(error)
            return
        self._since = time.monotonic()
        self._sent.popleft().finish(answer)

    def _blame(self, error: ChildDiedError | ChildTimeoutError) -> None:
        """The child has died of the oldest request.

        A crash counts only in a process where nothing has run before: otherwise it may come from
        what an earlier candidate wrote where it should not.
        """
        job = self._sent.popleft()
        repeats = (
            isinstance(error, ChildDiedError)
            and error.death.kind == "crash"
            and self._session.answered > 0
            and not job.has_crashed
        )
        self._forget_child()
        if repeats and not self._is_closed:
            job.has_crashed = True
            self._waiting.appendleft(job)
        else:
            job.finish(CancelledError() if self._is_closed else error)

    def _forget_child(self) -> None:
        """What was sent and has no answer is to be sent again."""
        self._session.end()
        self._waiting.extendleft(reversed(self._sent))
        self._sent.clear()
