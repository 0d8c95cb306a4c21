"""The fork server: a process without threads that has everything imported, and forks children."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from tilewright.operating_system import limit_memory
from tilewright.processes import channel

FATAL: Final = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT")

_PR_SET_PDEATHSIG: Final = 1


def main(control: int, directory: str, preloaded: Sequence[str]) -> None:
    """Fork children until the control socket is closed.

    Requests are JSON, with a byte before them that carries file descriptors.

    * ``{"fork": role, "path": ..., "directory": ...}`` comes with the child's connection and the
      file for its output; answered by ``{"pid": ...}``. The child looks for modules in the path,
      and its working directory is the given one.
    * ``{"end": pid}`` is answered by ``{"status": ...}``.

    The first answer is sent unasked, as soon as everything is imported.
    """
    connection = socket.socket(fileno=control)
    children: set[int] = set()
    try:
        _set_up(preloaded)
        channel.send_json(connection, {"ready": True})
        while True:
            begin, fds, _, _ = socket.recv_fds(connection, 1, 2)
            if not begin:
                break
            request = channel.receive_json(connection)
            if "fork" in request:
                pid = _fork(request, connection, fds)
                children.add(pid)
                channel.send_json(connection, {"pid": pid})
            else:
                pid = request["end"]
                status = _end(pid) if pid in children else signal.SIGKILL  # ended before
                children.discard(pid)
                channel.send_json(connection, {"status": status})
    except channel.ClosedError:
        pass
    finally:
        for pid in children:
            _end(pid)
        shutil.rmtree(directory, ignore_errors=True)


def _set_up(preloaded: Sequence[str]) -> None:
    from tilewright.target import Target
    from tilewright.target.codegen.llvm.compile import machine_for

    for name in preloaded:
        importlib.import_module(name)
    machine_for(Target("llvm"))
    gc.collect()
    gc.freeze()  # so that collecting in a child does not copy the pages that all share


def _end(pid: int) -> int:
    """Kill a child; a child that is about to die of something else keeps its status."""
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _fork(request: dict[str, Any], control: socket.socket, fds: list[int]) -> int:
    connection, output = fds
    server = os.getpid()
    pid = os.fork()
    if pid:
        os.close(connection)
        os.close(output)
        return pid
    try:
        control.close()
        _become_child(output, server)
        sys.path[:] = request["path"]
        os.chdir(request["directory"])
        _serve(request["fork"], connection)
    finally:
        os._exit(1)


def _become_child(output: int, server: int) -> None:
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    for number in FATAL:  # without tracebacks of native code, which take long
        signal.signal(getattr(signal, number), signal.SIG_DFL)
    if sys.platform == "linux":
        # The server has one thread, so its death is the death of the process.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != server:
            os._exit(1)
        _prefer_for_killing()
    limit_memory()


def _prefer_for_killing() -> None:
    """When memory is short, the system should kill a candidate and not its user."""
    try:
        with open("/proc/self/oom_score_adj", "w") as stream:
            stream.write("1000")
    except OSError:
        pass


def _serve(role: str, connection: int) -> NoReturn:
    module, function = role.split(":")
    try:
        getattr(importlib.import_module(module), function)(socket.socket(fileno=connection))
    except channel.ClosedError:  # nobody wants anything any more
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
