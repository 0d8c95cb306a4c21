"""The user's side of the fork server."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import IO, Any, Final

from tilewright.error import TVMError
from tilewright.processes import channel
from tilewright.processes.interrupts import deferred

START_LIMIT: Final = 120.0
"""Seconds after which a fork server that does not answer is given up."""

_ONE_THREAD: Final = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""Libraries that would start threads, which a process that forks must not have."""

_PROGRAM: Final = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
control, sys.path[:] = int(sys.argv[1]), json.loads(sys.argv[2])
from tilewright.processes.server_main import main
main(control, *json.loads(sys.argv[3]))
"""


class ForkServer:
    """A process from which children are forked. See `shared_fork_server`, which shares one.

    Args:
        preloaded: modules that are imported there, and not in each child.

    Attributes:
        directory: for temporary files. The fork server removes it at its end.
    """

    def __init__(self, preloaded: Sequence[str] = ()) -> None:
        if not hasattr(os, "fork"):
            raise TVMError("measuring candidates needs a system with fork(), such as Linux")
        self.directory = tempfile.mkdtemp(prefix="tilewright-")
        self._lock = threading.Lock()
        self._ready = False
        self._owner = os.getpid()
        self._control, theirs = socket.socketpair()
        settings = json.dumps([self.directory, preloaded])
        arguments = [str(theirs.fileno()), json.dumps(_path()), settings]
        self._last_words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (until `close`)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM, *arguments],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=self._last_words,
                    stderr=self._last_words,
                    env={**os.environ, **_ONE_THREAD},
                    start_new_session=True,  # Ctrl-C on the terminal is not for it, not even now
                )
        except BaseException:
            self._control.close()
            self._last_words.close()
            os.rmdir(self.directory)
            raise
        self._at_exit = atexit.register(self.close)

    def wait(self) -> None:
        """Wait until it is ready to fork."""
        self._ask(None)

    def is_ready(self) -> bool:
        """Whether `fork` would be answered at once."""
        with self._lock:
            return self._ready or bool(select.select([self._control], [], [], 0)[0])

    def is_usable(self) -> bool:
        """Whether it lives, and belongs to this process and not to the one that forked this."""
        return self._owner == os.getpid() and self._process.poll() is None

    def fork(self, role: str, connection: socket.socket, last_words: int) -> int:
        """Fork a child; gives its process number.

        Args:
            role: ``module:function``; the child calls the function with its connection, and ends
                when it returns.
            connection: the child's end of a socket.
            last_words: a file for what it writes on standard output and standard error.
        """
        request = {"fork": role, "path": _path(), "directory": os.getcwd()}
        return self._ask(request, [connection.fileno(), last_words])["pid"]

    def end(self, pid: int) -> int:
        """Kill a child, unless it is dead already; gives its exit status as `os.waitpid` does."""
        return self._ask({"end": pid})["status"]

    def close(self) -> None:
        """End the fork server and all its children."""
        if self._owner != os.getpid():
            return
        atexit.unregister(self._at_exit)
        if not self._ready:
            self._process.kill()  # it has no children that it should end
        self._control.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._last_words.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def abandon(self) -> None:
        """Close the files of a fork server that is dead.

        What was built stays in its directory until this process ends, as it may still be run.
        """
        with self._lock:
            self._control.close()
            self._last_words.close()

    def _ask(self, request: dict[str, Any] | None, fds: Sequence[int] = ()) -> Any:
        """The fork server's answer to a request; without one, wait until it is ready."""
        with deferred(), self._lock:
            try:
                if not self._ready:
                    self._answer()
                    self._ready = True
                if request is None:
                    return None
                socket.send_fds(self._control, [b"\0"], fds)
                channel.send_json(self._control, request)
                return self._answer()
            except (OSError, channel.ClosedError, channel.LateError) as error:
                self._process.kill()
                raise TVMError(
                    f"the fork server does not answer: {self._complaint(error)}"
                ) from None
            except BaseException:  # the next answer would be taken for that of another request
                self._process.kill()
                raise

    def _answer(self) -> Any:
        return channel.receive_json(self._control, time.monotonic() + START_LIMIT)

    def _complaint(self, error: BaseException) -> str:
        with contextlib.suppress(ValueError):
            self._last_words.seek(0)
            text = self._last_words.read().decode(errors="replace").strip()
            if text:
                return text
        return str(error)


def _path() -> list[str]:
    """Where modules are. Like Python, it passes over entries other than strings."""
    return [place for place in sys.path if isinstance(place, str)]


_shared: list[ForkServer] = []
_shared_lock = threading.Lock()


def shared_fork_server(preloaded: Sequence[str] = ()) -> ForkServer:
    """The fork server of this process, started when first asked for.

    Starting takes most of a second and happens in the background: only who forks waits for it.

    Args:
        preloaded: see `ForkServer`, for one that is started now.
    """
    with _shared_lock:
        if not _shared or not _shared[0].is_usable():
            for dead in _shared:
                dead.abandon()
            _shared[:] = [ForkServer(preloaded)]
        return _shared[0]
