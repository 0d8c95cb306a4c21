"""Workers: what a builder and a runner do on machines of a fleet."""

from __future__ import annotations

import pickle
import queue
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tilewright.processes.requests import received
from tilewright.target import Target
from tilewright.tune.database.record import this_machine
from tilewright.tune.measure.affinity import may_use
from tilewright.tune.measure.children import fork_server
from tilewright.tune.measure.fleet.cores import CoreLease
from tilewright.tune.measure.fleet.tasks import BuildTask, Built, CheckTask, RunTask
from tilewright.tune.measure.interfaces import BuilderInput, RunnerInput, RunnerResult
from tilewright.tune.measure.local_builder import LocalBuilder
from tilewright.tune.measure.local_runner import LocalRunner
from tilewright.tune.measure.run_requests import Artifact

FUNCTIONS: Final = (
    "f_build", "f_export", "f_alloc_argument", "f_run_evaluator", "f_cleanup", "initializer",
)  # fmt: skip
"""Options that are functions; they come in the form of `portable`."""


class BuildWorker:
    """Builds; threads may call it.

    Args:
        options: of `LocalBuilder`.

    Attributes:
        warning: what its user should know.
    """

    warning: str | None = None

    def __init__(self, **options: Any) -> None:
        self._options = _received(options)
        self._idle: queue.SimpleQueue[LocalBuilder] = queue.SimpleQueue()
        fork_server().wait()

    def build(self, task: BuildTask) -> Built:
        """Build a candidate."""
        deadline = time.monotonic() + task.seconds
        mod, params = pickle.loads(task.program)
        item = BuilderInput(mod, Target(task.target), params, task.cpu_seconds, deadline)
        with self._builder() as builder:
            (result,) = builder.build([item])
        spent = {"seconds": result.seconds, "cpu_seconds": result.cpu_seconds}
        if result.artifact_path is None:
            return Built(None, result.error_msg, result.error_kind, **spent)
        try:
            artifact = Artifact.read(result.artifact_path)
        except OSError as error:
            return Built(None, f"the artifact cannot be read: {error}", "build", **spent)
        _remove(result.artifact_path)
        return Built(artifact, **spent)

    @contextmanager
    def _builder(self) -> Iterator[LocalBuilder]:
        """A builder that no other thread has."""
        try:
            builder = self._idle.get_nowait()
        except queue.Empty:
            builder = LocalBuilder(max_workers=1, **self._options)
        try:
            yield builder
        finally:
            self._idle.put(builder)


class RunWorker:
    """Runs candidates, one after the other.

    Args:
        cores: number of cores that it has for timing; None for all.
        options: of `LocalRunner`.
    """

    def __init__(self, cores: int | None, **options: Any) -> None:
        self._lease = CoreLease(cores, may_use())
        self._runner = LocalRunner(cores=self._lease.cores, **_received(options))
        fork_server().wait()

    @property
    def warning(self) -> str | None:
        """What its user should know."""
        if self._lease.is_exclusive:
            return None
        return "it shares cores with another worker, so that they disturb each other"

    def run(self, task: RunTask) -> RunnerResult:
        """Time a candidate."""
        self._runner.set_standard(task.inputs[0], task.standard)
        with self._written(task) as inputs:
            (future,) = self._runner.run(inputs)
            return _here(future.result())

    def remeasure(self, task: RunTask) -> list[RunnerResult]:
        """Time candidates in turns."""
        self._runner.set_standard(task.inputs[0], task.standard)
        with self._written(task) as inputs:
            return [_here(result) for result in self._runner.remeasure(inputs)]

    def expect(self, task: CheckTask) -> None:
        """Start to compute what candidates should."""
        self._runner.expect(task.input, task.mod)

    def can_check(self, task: CheckTask) -> bool:
        """Whether that is there."""
        return self._runner.can_check(task.input, task.mod)

    def check(self, task: CheckTask) -> str | None:
        """How the results of a candidate differ from that."""
        assert task.artifact is not None
        with self._written(RunTask([task.input], [task.artifact])) as inputs:
            return self._runner.check(inputs[0], task.mod)

    @contextmanager
    def _written(self, task: RunTask) -> Iterator[list[RunnerInput]]:
        """The candidates, with their files where they can be loaded from."""
        directory = tempfile.mkdtemp(dir=fork_server().directory)
        try:
            yield [
                replace(item, artifact_path=artifact.write(directory))
                for item, artifact in zip(task.inputs, task.artifacts, strict=True)
            ]
        finally:
            shutil.rmtree(directory, ignore_errors=True)


def _received(options: dict[str, Any]) -> dict[str, Any]:
    """Options as constructors take them: names stay names, since an `initializer` may give them."""
    return {
        name: received(value) if name in FUNCTIONS and isinstance(value, bytes) else value
        for name, value in options.items()
    }


def _here(result: RunnerResult) -> RunnerResult:
    result.machine = dict(this_machine())
    return result


def _remove(path: str) -> None:
    """Delete what a builder wrote, with its directory if that was its own."""
    file = Path(path)
    file.unlink(missing_ok=True)
    if file.parent.parent == Path(fork_server().directory):
        shutil.rmtree(file.parent, ignore_errors=True)
