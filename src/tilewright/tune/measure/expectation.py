"""Computing what a program should compute, while something else goes on."""

from __future__ import annotations

import logging
import select
import shutil
import tempfile
import time
from typing import Any

from tilewright.ir.module import IRModule
from tilewright.processes import (
    Child,
    ChildDiedError,
    ChildTimeoutError,
)
from tilewright.processes.requests import dumps
from tilewright.tune.measure.children import EXPECTING, fork_server
from tilewright.tune.measure.expected_results import ExpectRequest

logger = logging.getLogger(__name__)


class Expectation:
    """The results of a program, on their way.

    A child with low priority runs the program as it is written. If that takes too long, the results
    of its default schedule have to do.

    Args:
        mod: the program.
        args_info: its arguments, as `ArgInfo.as_json` gives them.
        cores: where to run it.
        seconds: how long the program may take.
    """

    def __init__(
        self, mod: IRModule, args_info: list[Any], cores: frozenset[int], seconds: float
    ) -> None:
        self._mod, self._info, self._seconds = mod, args_info, seconds
        self._cores = cores
        self._directory: str | None = None
        self._is_scheduled = False
        self._child: Child | None = None
        self._deadline = 0.0
        self._start(default_schedule=False)

    @property
    def is_there(self) -> bool:
        """Whether there are results, or will be none."""
        child = self._child
        if child is None:
            return True
        if time.monotonic() < self._deadline and not select.select([child], [], [], 0)[0]:
            return False
        self._take_answer(child)
        return self._child is None

    def directory(self) -> str | None:
        """Where the results are, for which it waits; None if there are none."""
        while self._child is not None:
            self._take_answer(self._child)
        return self._directory

    def _start(self, default_schedule: bool) -> None:
        server = fork_server()
        self._directory = tempfile.mkdtemp(dir=server.directory)
        self._is_scheduled = default_schedule
        self._deadline = time.monotonic() + self._seconds
        self._child = Child(f"{EXPECTING}:main", server)
        request = ExpectRequest(
            self._mod, self._info, self._directory, default_schedule, self._cores, self._seconds
        )
        self._child.send(dumps(request))

    def _take_answer(self, child: Child) -> None:
        """Wait for the child; without results of it, start with the default schedule."""
        failure = self._failure(child)
        self._child = None  # not before: an interrupt may end the waiting
        if failure is None:
            return
        if not self._is_scheduled:
            logger.info(
                "%s; candidates are compared with the default schedule of the program instead",
                failure,
            )
            self._delete()
            self._start(default_schedule=True)
        else:
            logger.warning("candidates are not checked: %s", failure)
            self._delete()

    def _failure(self, child: Child) -> str | None:
        """The reason if a child has no results."""
        try:
            answer = child.receive(self._deadline)
        except ChildTimeoutError:
            return f"the program as it is written takes longer than {self._seconds:g} s"
        except ChildDiedError as error:
            return f"the program as it is written fails: {error.death.message}"
        child.end()
        message = answer.get("error_msg")
        return message and f"the program as it is written fails: {message}"

    def close(self) -> None:
        """Don't compute it, and delete the results."""
        if self._child is not None:
            self._child.end()
            self._child = None
        self._delete()

    def _delete(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
