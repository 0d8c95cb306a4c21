"""The child process that builds."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tilewright.driver.build_module import build
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.processes import channel
from tilewright.processes.requests import error_text, received
from tilewright.runtime.loading import save_object
from tilewright.runtime.module import Module
from tilewright.target import Target
from tilewright.target.codegen.llvm.compile import CompiledModule
from tilewright.tune.measure.affinity import stay_on
from tilewright.tune.measure.estimate import is_estimated, write_estimate


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """The first request; answered like a build.

    Attributes:
        directory: for artifacts.
        f_build: see `LocalBuilder`, in the form of `portable`.
        f_export: the same.
        initializer: the same.
    """

    directory: str
    f_build: bytes | str | None = None
    f_export: bytes | str | None = None
    initializer: bytes | str | None = None


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Build a module; answered by ``{"path"}`` or ``{"error_msg"}``, and times.

    The times are "seconds" and "cpu_seconds".

    Attributes:
        mod: the module.
        target: for what, as `Target.export` gives it.
        params: constants by name.
        cores: where to run.
        cpu_limit: how much processor time it may take, the child dies of more; 0 for no limit.
    """

    mod: IRModule
    target: dict[str, Any]
    params: Any
    cores: frozenset[int]
    cpu_limit: float = 0.0


def main(connection: socket.socket) -> None:
    """Answer requests until the connection is closed."""
    settings = pickle.loads(channel.receive(connection))
    worker = None
    answer: dict[str, Any] = {"path": None}
    try:
        worker = _Worker(settings)
    except Exception as error:
        answer = {"error_msg": error_text(error)}
    channel.send_json(connection, answer)
    while worker is not None:
        content = channel.receive(connection)
        channel.send_json(connection, worker.answer(content))


class _Worker:
    def __init__(self, settings: BuildSettings) -> None:
        initializer = received(settings.initializer)
        if initializer is not None:
            initializer()
        self.build: Callable[..., Any] = received(settings.f_build, default_build)
        self._directory, self._exports_itself = settings.directory, settings.f_export is not None
        self.export: Callable[..., Any] = received(
            settings.f_export, partial(default_export, directory=settings.directory)
        )

    def _exported(self, module: Any, request: BuildRequest) -> str | os.PathLike[str]:
        target = Target(request.target)
        if self._exports_itself or not is_estimated(target.kind.device_type):
            return self.export(module)
        return write_estimate(request.mod, module, target, self._directory)

    def answer(self, content: bytes) -> dict[str, Any]:
        start, spent = time.monotonic(), time.process_time()
        try:
            request: BuildRequest = pickle.loads(content)
            stay_on(request.cores)
            signal.setitimer(signal.ITIMER_PROF, request.cpu_limit)
            module = self.build(request.mod, Target(request.target), request.params)
            answer = {"path": os.fspath(self._exported(module, request))}
        except Exception as error:
            answer = {"error_msg": error_text(error)}
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        cpu_seconds = time.process_time() - spent
        return {**answer, "seconds": time.monotonic() - start, "cpu_seconds": cpu_seconds}


def default_build(mod: IRModule, target: Target, params: Any = None) -> Module:
    """Compile what a schedule says and nothing else: no default schedule."""
    del params  # for builders that link constants in
    with PassContext(config={"tir.default_schedule": False}):
        return build(mod, target=target)


def default_export(module: Module, directory: str) -> str:
    """A file in a new directory of its own: object code, or a library if there is none."""
    own = tempfile.mkdtemp(dir=directory)
    if isinstance(module.code, CompiledModule):
        path = os.path.join(own, "candidate.o")
        save_object(module, path)
    else:
        path = os.path.join(own, "candidate.so")
        module.export_library(path)
    return path
