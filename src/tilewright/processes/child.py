"""The user's side of a child process."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
from typing import IO, Any, Final, Literal, NamedTuple

from tilewright.processes import channel
from tilewright.processes.fork_server import ForkServer, shared_fork_server

DeathKind = Literal["crash", "illegal-instruction", "timeout", "cancelled"]

LAST_WORDS: Final = 2000
"""Number of bytes of the output of a dead child in messages."""


class Death(NamedTuple):
    """How a child ended."""

    kind: DeathKind
    message: str


class ChildDiedError(Exception):
    """The child has ended; `death` says how."""

    def __init__(self, death: Death) -> None:
        super().__init__(death.message)
        self.death = death


class ChildTimeoutError(Exception):
    """The child has not answered in time, and is killed."""


class Child:
    """A process forked from the fork server, which answers requests one after the other.

    Args:
        role: what it does: ``module:function``.
        server: where it is forked, by default the one of this process.
    """

    def __init__(self, role: str, server: ForkServer | None = None) -> None:
        self._server = server or shared_fork_server()
        self._connection, theirs = socket.socketpair()
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (until `end`)
        with theirs:
            try:
                self.pid = self._server.fork(role, theirs, self._output.fileno())
            except BaseException:
                self._connection.close()
                self._output.close()
                raise
        self.is_alive = True

    def fileno(self) -> int:
        """Of the socket, which is readable when there is an answer or the child is dead."""
        return self._connection.fileno()

    def send(self, request: bytes) -> None:
        """Send a request.

        Raises:
            ChildDiedError: if the child is dead.
        """
        try:
            channel.send(self._connection, request)
        except channel.ClosedError:
            raise ChildDiedError(self.end()) from None

    def receive(self, deadline: float | None = None) -> Any:
        """The answer to the oldest request that has none.

        Args:
            deadline: until when to wait, by `time.monotonic`.

        Raises:
            ChildDiedError: if the child dies before it answers.
            ChildTimeoutError: if it takes longer.
        """
        try:
            return channel.receive_json(self._connection, deadline)
        except channel.LateError:
            self.end()
            raise ChildTimeoutError from None
        except channel.ClosedError:
            raise ChildDiedError(self.end()) from None

    def ask(self, request: bytes, seconds: float | None = None) -> Any:
        """The answer to a request: see `send` and `receive`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self.send(request)
        return self.receive(deadline)

    def kill(self) -> None:
        """Kill the child and keep the connection: whoever waits for an answer learns of it."""
        if self.is_alive and self._server.is_usable():
            self._server.end(self.pid)

    def end(self) -> Death:
        """Kill the child if it lives; tells how it ended."""
        if not self.is_alive:
            return Death("cancelled", "the process was ended")
        self.is_alive = False
        self._connection.close()
        with self._output:
            if not self._server.is_usable():
                return Death("crash", "the process was ended together with the fork server")
            status = self._server.end(self.pid)
            return _death(status, self._read_output())

    def _read_output(self) -> str:
        size = os.fstat(self._output.fileno()).st_size
        self._output.seek(max(size - LAST_WORDS, 0))
        return self._output.read().decode(errors="replace").strip()


def _death(status: int, output: str) -> Death:
    """What the exit status of a process says."""
    told = f"\n{output}" if output else ""
    if not os.WIFSIGNALED(status):
        return Death(
            "crash", f"the process ended with status {os.waitstatus_to_exitcode(status)}{told}"
        )
    number = os.WTERMSIG(status)
    if number == signal.SIGILL:
        return Death(
            "illegal-instruction", f"an instruction that this machine lacks (SIGILL){told}"
        )
    if number in (signal.SIGPROF, signal.SIGXCPU):
        return Death("timeout", f"it takes more processor time than it was given{told}")
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    hint = ", for want of memory perhaps" if number == signal.SIGKILL else ""
    return Death("crash", f"the process was killed by {name}{hint}{told}")
