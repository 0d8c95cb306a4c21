"""The protocol of the child process that runs candidates.

The user's process sends a pickle of one of the classes here and gets a JSON object. The first
request is `RunSettings`. Each request after it holds all that it takes to answer it, so that a
child that takes the place of a dead one needs no history; a child keeps what it has loaded and
allocated for the next request. Answers:

    RunSettings                {}
    MeasureRequest             {"run_secs": [...], "cpu_secs": [...], "complete": true}
    InterleavedRequest               {"times": [{"run_secs": ..., "cpu_secs": ...}, ...]}
    CheckRequest               {"difference": null or text}
    any, if something fails    {"error_msg": text}

All but the first have the "seconds" that they took, too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tilewright.tune.measure.interfaces import EvaluatorConfig


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What holds for all requests.

    Attributes:
        config: how often candidates run.
        single: whether candidates run on one core.
        cores: where to run.
        cooldown_sec: how long to rest after each candidate.
        alloc_repeat: number of sets of arguments.
        f_alloc_argument: see `LocalRunner`, in the form of `portable`.
        f_run_evaluator: the same.
        f_cleanup: the same.
        initializer: the same.
    """

    config: EvaluatorConfig
    single: bool
    cores: frozenset[int]
    cooldown_sec: float = 0.0
    alloc_repeat: int = 1
    f_alloc_argument: bytes | str | None = None
    f_run_evaluator: bytes | str | None = None
    f_cleanup: bytes | str | None = None
    initializer: bytes | str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """What to load.

    Attributes:
        artifact_path: the file.
        device_type: where it runs.
        args_info: its arguments, as `ArgInfo.as_json` gives them.
        packed: those of them that are packed first, by position, as they are then.
    """

    artifact_path: str
    device_type: str
    args_info: list[Any]
    packed: dict[int, Any]


@dataclass(frozen=True, slots=True)
class ReferenceArtifact:
    """A candidate to compare with.

    Attributes:
        artifact_path: its file.
        nominal: seconds that it takes by definition.
        packed: see `Candidate`.
    """

    artifact_path: str
    nominal: float
    packed: dict[int, Any]


@dataclass(frozen=True, slots=True)
class MeasureRequest:
    """Time a candidate.

    Attributes:
        candidate: what to time.
        reference: what to compare it with.
        best: seconds of the best candidate so far.
        seconds: when to stop with what has been measured.
        cpu_limit: how much processor time all of it may take; the child dies of more.
    """

    candidate: Candidate
    reference: ReferenceArtifact | None
    best: float | None
    seconds: float
    cpu_limit: float | None


@dataclass(frozen=True, slots=True)
class InterleavedRequest:
    """Time candidates in turns.

    Attributes:
        candidates: what to time.
        reference: what to compare them with.
        seconds: how long that may take.
    """

    candidates: list[Candidate]
    reference: ReferenceArtifact | None
    seconds: float


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Compare the results of a candidate.

    Attributes:
        candidate: what to run.
        directory: of the expected results.
        terms: maximum number of terms of the sum of an element.
    """

    candidate: Candidate
    directory: str
    terms: int


CLEARLY_FASTER: Final = 0.8
"""A candidate that takes so little of the reference's time becomes the reference.

Every change of it adds an error of measuring to all times after it, so there should be few.
"""


class Workload:
    """One workload.

    Attributes:
        best: seconds of its best candidate, None before there is one.
    """

    def __init__(self) -> None:
        self.best: float | None = None
        self._nominal = 0.0
        self._content = b""
        self._path = Path()
        self._packed: dict[int, Any] = {}
        self._directories: list[str] = []

    def reference(self, directory: str) -> ReferenceArtifact | None:
        """What to compare candidates with; its file is in `directory`."""
        if not self._content:
            return None
        if self._path.parent.parent != Path(directory) or not self._path.exists():
            own = tempfile.mkdtemp(dir=directory)
            self._directories.append(own)
            self._path = Path(own, self._path.name)
            self._path.write_bytes(self._content)
        return ReferenceArtifact(os.fspath(self._path), self._nominal, self._packed)

    def close(self) -> None:
        """Delete the files of references."""
        while self._directories:
            shutil.rmtree(self._directories.pop(), ignore_errors=True)

    def add(self, artifact_path: str, packed: dict[int, Any], seconds: float) -> None:
        """A candidate was measured completely."""
        if self.best is None or seconds < self.best:
            self.best = seconds
        if not self._content or seconds < CLEARLY_FASTER * self._nominal:
            self._content = Path(artifact_path).read_bytes()
            self._nominal, self._packed = seconds, packed
            self._path = Path(Path(artifact_path).name)
