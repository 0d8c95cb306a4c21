"""Computing what a program should compute, while something else goes on."""

from __future__ import annotations

import logging
import select
import tempfile
import time
from typing import Any, Final

from tilewright.ir.module import IRModule
from tilewright.tune.measure.affinity import other_cores
from tilewright.tune.measure.expected_worker import ExpectRequest
from tilewright.tune.measure.process import (
    Child,
    ChildDiedError,
    ChildTimeoutError,
    shared_fork_server,
)
from tilewright.tune.measure.process.requests import dumps

ROLE: Final = "tilewright.tune.measure.expected_worker:main"

logger = logging.getLogger(__name__)


class Expectation:
    """The results of a program, on their way.

    A child with low priority runs the program as it is written. If that takes too long, the results
    of its default schedule have to do.

    Args:
        mod: the program.
        args_info: its arguments, as `ArgInfo.as_json` gives them.
        num_cores: of the candidates that will be compared.
        seconds: how much processor time the program may take.
    """

    def __init__(
        self, mod: IRModule, args_info: list[Any], num_cores: int | None, seconds: float
    ) -> None:
        self._mod, self._info, self._seconds = mod, args_info, seconds
        self._cores = other_cores(num_cores)
        self._directory: str | None = None
        self._child: Child | None = self._start(default_schedule=False)

    @property
    def is_there(self) -> bool:
        """Whether the program has run, or will not."""
        if self._child is None:
            return True
        return bool(select.select([self._child], [], [], 0)[0])

    def directory(self) -> str | None:
        """Where the results are, for which it waits; None if there are none."""
        if self._child is None:
            return self._directory
        failure = self._wait(self._child)
        if failure is not None:
            logger.warning("the program as it is written gives no results: %s", failure)
            self._child = self._start(default_schedule=True)
            failure = self._wait(self._child)
            if failure is not None:
                logger.warning("candidates are not checked: %s", failure)
                self._directory = None
        self._child = None
        return self._directory

    def _start(self, default_schedule: bool) -> Child:
        server = shared_fork_server()
        self._directory = tempfile.mkdtemp(dir=server.directory)
        child = Child(ROLE, server)
        request = ExpectRequest(
            self._mod, self._info, self._directory, default_schedule, self._cores, self._seconds
        )
        child.send(dumps(request))
        self._deadline = time.monotonic() + self._seconds
        return child

    def _wait(self, child: Child) -> str | None:
        """Wait for the child; the reason if it has no results."""
        try:
            # It may have been waiting for the processor for as long as it has computed.
            answer = child.receive(max(self._deadline, time.monotonic() + 1.0))
        except ChildTimeoutError:
            return f"it takes longer than {self._seconds:g} s"
        except ChildDiedError as error:
            return error.death.message
        child.end()
        return answer.get("error_msg")

    def close(self) -> None:
        """Don't compute it."""
        if self._child is not None:
            self._child.end()
            self._child = None
