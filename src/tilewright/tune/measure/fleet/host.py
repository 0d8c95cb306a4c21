"""The process of a worker."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tilewright.tune.database.record import this_machine
from tilewright.tune.measure.affinity import stay_on, whole_machine
from tilewright.tune.measure.fleet.cluster import Greeting
from tilewright.tune.measure.fleet.versions import versions


class Host:
    """Says where it is, and then has a worker. A cluster starts one in a process of its own.

    Nothing is unpickled before the tuner's process knows that the versions agree.

    Args:
        path: where to look for modules, if that is not the environment's business.
        all_cores: whether it may use cores that its parent process keeps away from.
        predecessor: a `Greeting` as a tuple: a process that is given up. If it is on this machine
            it is killed, since one that hangs may not have noticed that it was to end.
    """

    def __init__(
        self,
        path: Sequence[str] | None = None,
        all_cores: bool = False,
        predecessor: tuple[str, int] | None = None,
    ) -> None:
        if path is not None:
            sys.path[:] = path
        if all_cores:
            stay_on(whole_machine())
        if predecessor is not None:
            _end(*predecessor)
        self._worker: Any = None

    def greet(self) -> Greeting:
        """Where it is."""
        return Greeting(dict(this_machine()), versions(), socket.gethostname(), os.getpid())

    def open(self, worker: str, options: bytes) -> str | None:
        """Make the worker.

        Args:
            worker: its class, as ``module:name``.
            options: the arguments of its constructor, pickled.

        Returns:
            what its user should know, if there is something.
        """
        module, name = worker.split(":")
        self._worker = getattr(importlib.import_module(module), name)(**pickle.loads(options))
        return self._worker.warning

    def do(self, method: str, task: bytes) -> Any:
        """What a method of the worker says to a task, which is pickled."""
        return getattr(self._worker, method)(pickle.loads(task))


def _end(host: str, pid: int) -> None:
    """Kill a worker's process, if it is one on this machine."""
    if host != socket.gethostname():
        return
    with contextlib.suppress(OSError):
        if b"ray::" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
