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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Artifact:
    """The file that a builder wrote, in memory.

    Attributes:
        name: of the file, without its directory.
        content: its bytes.
    """

    name: str
    content: bytes

    @staticmethod
    def read(path: str | Path) -> Artifact:
        """The file at a path."""
        return Artifact(Path(path).name, Path(path).read_bytes())

    def write(self, directory: str | Path) -> str:
        """Write the file to a new directory of its own; gives its path."""
        path = Path(tempfile.mkdtemp(dir=directory), self.name)
        path.write_bytes(self.content)
        return os.fspath(path)


@dataclass(frozen=True, slots=True)
class Standard:
    """What candidates of a workload are compared with.

    Attributes:
        best: seconds of the best candidate so far.
        artifact: of the candidate that is the reference.
        nominal: seconds that the reference takes by definition.
        packed: see `Candidate`.
    """

    best: float
    artifact: Artifact
    nominal: float
    packed: dict[int, Any]


class Workload:
    """What is known of the candidates of one workload.

    Attributes:
        standard: what they are compared with; None before one was measured.
    """

    def __init__(self) -> None:
        self.standard: Standard | None = None
        self._written: tuple[Artifact, Path] | None = None
        self._directories: list[str] = []

    @property
    def best(self) -> float | None:
        """Seconds of the best candidate; None before there is one."""
        return None if self.standard is None else self.standard.best

    def reference(self, directory: str) -> ReferenceArtifact | None:
        """What to compare candidates with; its file is in `directory`."""
        standard = self.standard
        if standard is None:
            return None
        path = self._written_path(standard.artifact, directory)
        return ReferenceArtifact(os.fspath(path), standard.nominal, standard.packed)

    def _written_path(self, artifact: Artifact, directory: str) -> Path:
        if self._written is not None:
            written, path = self._written
            if written == artifact and path.parent.parent == Path(directory) and path.exists():
                return path
        path = Path(artifact.write(directory))
        self._directories.append(os.fspath(path.parent))
        self._written = artifact, path
        return path

    def close(self) -> None:
        """Delete the files of references."""
        while self._directories:
            shutil.rmtree(self._directories.pop(), ignore_errors=True)

    def add(
        self, artifact: Callable[[], Artifact], packed: dict[int, Any], seconds: Sequence[float]
    ) -> None:
        """A candidate was measured completely.

        Args:
            artifact: reads its file.
            packed: see `Candidate`.
            seconds: what its repetitions took.
        """
        median = sorted(seconds)[len(seconds) // 2]
        known = self.standard
        if known is None or median < CLEARLY_FASTER * known.nominal:
            best = median if known is None else min(median, known.best)
            self.standard = Standard(best, artifact(), median, packed)
        elif median < known.best:
            self.standard = replace(known, best=median)
