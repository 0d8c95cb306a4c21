"""Processes that help this one to compile large programs."""

from __future__ import annotations

import base64
import os
import pickle
import selectors
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tilewright.driver.object_cache import package_fingerprint, target_facts
from tilewright.error import TVMError
from tilewright.ir.pass_context import PassContext
from tilewright.ir.recursion import ScopeStack
from tilewright.processes import Child, ChildDiedError, ChildTimeoutError, ForkServer
from tilewright.processes.requests import dumps
from tilewright.target import Target
from tilewright.target.cpu import usable_cores

T = TypeVar("T")
R = TypeVar("R")

ROLE: Final = "tilewright.driver.helper_worker:main"

STEPS_EACH: Final = 32
"""Steps of a program for which it pays to start a process: that takes as long as compiling some."""

MOST_HELPERS: Final = 15
"""More have nothing to do: most passes over the graph run in one process."""

FEW: Final = 4
"""Number of items that are not worth asking for help."""

AHEAD: Final = 2
"""Items that a process has at a time: one that it works on, and the next one."""

PATIENCE: Final = 60.0
"""Seconds without any answer after which processes are given up."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request to a process, which has no answer: what to do with items.

    The requests that follow are numbers of items. Each is answered by the pickled result in base
    64; or by null where there is none, or a warning.

    Attributes:
        function: ``function(item, target)``, which depends on nothing else than options.
        items: each pickled.
        target: what to compile for, as `Target.export` gives it.
        facts: what `facts_about` says about the target in the user's process.
        context: the arguments of the `PassContext`.
    """

    function: Callable[[Any, Target], Any]
    items: Sequence[bytes]
    target: Mapping[str, Any]
    facts: tuple[str, ...]
    context: Mapping[str, Any]


def count_helpers(steps: int) -> int:
    """How many processes should help this one with a program of so many steps."""
    if not hasattr(os, "fork") or not _runs_programs(sys.executable):
        return 0
    return min(usable_cores() - 1, steps // STEPS_EACH, MOST_HELPERS)


def _runs_programs(executable: str | None) -> bool:
    """Whether this is the interpreter, and not a program in which it is embedded."""
    return os.path.basename(executable or "").startswith(("python", "pypy"))


def with_help(
    function: Callable[[T, Target], R], items: Sequence[T], target: Target
) -> Iterator[tuple[int, R]]:
    """What `function` makes of each item, with its number, in any order.

    Helpers do a part of it if there are any; see `Helpers`. They do one thing at a time: what was
    begun before is not ended any more.

    Args:
        function: ``function(item, target)``, which can be imported. The result depends on nothing
            else but the current `PassContext`.
        items: the items, which can be pickled, as their results can.
        target: what is compiled for.
    """
    helpers = _scopes.innermost()
    if helpers is not None and helpers.are_expected and len(items) >= FEW:
        job = _job(function, items, target)
        if job is not None:
            yield from helpers.results(job, lambda number: function(items[number], target))
            return
    for number, item in enumerate(items):
        yield number, function(item, target)


def _job(function: Callable[[T, Target], Any], items: Sequence[T], target: Target) -> Job | None:
    """A job for other processes; None for what cannot be sent."""
    context = PassContext.current()
    if context.fingerprint() is None:
        return None  # whoever watches the passes wants to see all of them
    try:
        pickled = [dumps(item) for item in items]
    except Exception:  # whatever a user's attributes are
        return None
    return Job(function, pickled, target.export(), facts_about(target), context.arguments())


def facts_about(target: Target) -> tuple[str, ...]:
    """What must be the same in two processes that are to make the same code."""
    return (*target_facts(target), package_fingerprint())


class Helpers:
    """Processes that help with what is compiled in a ``with`` statement, see `with_help`.

    They start in the background. Whatever goes wrong with one of them costs its help only: what it
    has not answered is done by the others or by this process, which raises all errors and warnings.

    Args:
        count: how many processes.
    """

    def __init__(self, count: int) -> None:
        self._missing = count
        self._server: ForkServer | None = None
        self._selector = selectors.DefaultSelector()
        self._busy: dict[Child, deque[int]] = {}  # the items that they have not answered
        self._told: set[Child] = set()  # those that know the job
        self._job = b""
        self._waiting: deque[int] = deque()
        self._own: deque[int] = deque()  # what other processes cannot do

    @property
    def are_expected(self) -> bool:
        """Whether there are any, or will be."""
        return bool(self._missing or self._busy)

    def __enter__(self) -> Helpers:
        if self._missing:
            with suppress(TVMError, OSError):
                self._server = ForkServer((ROLE.partition(":")[0],))
        if self._server is None:
            self._missing = 0
        _scopes.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _scopes.leave()
        for child in list(self._busy):
            self._give_up(child)
        self._selector.close()
        if self._server is not None:
            self._server.close()

    def results(self, job: Job, do_here: Callable[[int], R]) -> Iterator[tuple[int, R]]:
        """See `with_help`.

        Args:
            job: what to do.
            do_here: gives the result for an item in this process.
        """
        for child in [child for child, numbers in self._busy.items() if numbers]:
            self._give_up(child)  # nobody waits for its answers any more
        self._own.clear()
        self._job = dumps(job)
        self._told.clear()
        # Large ones first, so that all come to an end together.
        numbers = range(len(job.items))
        self._waiting = deque(sorted(numbers, key=lambda n: len(job.items[n]), reverse=True))
        while self._waiting or self._own or any(self._busy.values()):
            self._start()
            for child in list(self._busy):
                self._give(child)
            next_ones = self._own or self._waiting
            yield from self._answers(0.0 if next_ones else PATIENCE)
            if next_ones:
                number = next_ones.popleft()
                yield number, do_here(number)

    def _start(self) -> None:
        """Start the processes if that takes no time by now."""
        if self._server is None or not self._missing or not self._server.is_ready():
            return
        try:
            while self._missing:
                self._missing -= 1
                child = Child(ROLE, self._server)
                self._busy[child] = deque()
                self._selector.register(child, selectors.EVENT_READ)
        except (TVMError, OSError):
            self._missing = 0  # the next ones would not start, either

    def _give(self, child: Child) -> None:
        """Let a process have enough to do; the last one is for this process."""
        numbers = self._busy[child]
        try:
            while len(numbers) < AHEAD and len(self._waiting) > 1:
                if child not in self._told:
                    child.send(self._job)
                    self._told.add(child)
                numbers.append(self._waiting.popleft())
                child.send(pickle.dumps(numbers[-1]))
        except ChildDiedError:
            self._give_up(child)

    def _answers(self, seconds: float) -> Iterator[tuple[int, Any]]:
        """What has come within this time."""
        ready: list[Any] = [key.fileobj for key, _ in self._selector.select(seconds)]
        for child in [] if ready or not seconds else list(self._busy):
            self._give_up(child)
        for child in ready:
            try:
                answer = child.receive(time.monotonic() + PATIENCE)
            except (ChildDiedError, ChildTimeoutError):
                self._give_up(child)
                continue
            number = self._busy[child].popleft()
            if answer is None:
                self._own.append(number)
            else:
                yield number, pickle.loads(base64.b64decode(answer))

    def _give_up(self, child: Child) -> None:
        self._selector.unregister(child)
        self._waiting.extendleft(reversed(self._busy.pop(child)))
        self._told.discard(child)
        with suppress(TVMError):
            child.end()


_scopes: ScopeStack[Helpers] = ScopeStack()
