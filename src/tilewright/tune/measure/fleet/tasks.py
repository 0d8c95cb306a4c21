"""What is sent to workers, and what comes back; files travel as bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.ir.module import IRModule
from tilewright.tune.measure.interfaces import ErrorKind, RunnerInput
from tilewright.tune.measure.run_requests import Artifact, Standard


@dataclass(frozen=True, slots=True)
class BuildTask:
    """What to build: see `BuilderInput`.

    Attributes:
        program: the module and the constants by name, pickled.
        target: for what, as `Target.export` gives it.
        cpu_seconds: how much processor time that may take.
        seconds: how long it may take.
    """

    program: bytes
    target: dict[str, Any]
    cpu_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Built:
    """What came of it: see `BuilderResult`.

    Attributes:
        artifact: the file.
        error_msg: what went wrong.
        error_kind: what kind of error it is.
        seconds: how long it took.
        cpu_seconds: how much processor time it took.
    """

    artifact: Artifact | None
    error_msg: str | None = None
    error_kind: ErrorKind | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunTask:
    """Candidates of one workload to run.

    Attributes:
        inputs: the candidates, without their paths.
        artifacts: their files.
        standard: what is known of the workload.
    """

    inputs: list[RunnerInput]
    artifacts: list[Artifact]
    standard: Standard | None = None


@dataclass(frozen=True, slots=True)
class CheckTask:
    """A candidate to compare with the program that is tuned.

    Attributes:
        input: the candidate, without its path.
        mod: the program.
        artifact: the file; None if the results of the program matter only.
    """

    input: RunnerInput
    mod: IRModule
    artifact: Artifact | None = None
