"""What a runner knows of the workloads whose candidates it times."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from tilewright.tune.measure.run_requests import ReferenceArtifact

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
