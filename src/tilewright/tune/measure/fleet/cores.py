"""Cores of a machine that a process has for itself, among all that ask here."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Collection
from pathlib import Path

from tilewright import operating_system


class CoreLease:
    """Cores that no other lease on this machine has, as long as this one lives.

    A lease of a core is a lock on a file, which the system releases whatever way the process ends.

    Args:
        count: number of cores; None for all that there are.
        among: the cores to choose from, the last ones first.
        directory: where the files are; by default the same for all processes of a user.

    Attributes:
        cores: the cores. Where too few are free, the last ones in spite of that.
        is_exclusive: whether nobody else has them.
    """

    def __init__(
        self, count: int | None, among: Collection[int], directory: str | Path | None = None
    ) -> None:
        self._files: list[int] = []
        ordered = sorted(among, reverse=True)
        count = len(ordered) if count is None else min(count, len(ordered))
        own = Path(
            directory
            or Path(tempfile.gettempdir(), f"tilewright-cores-{operating_system.user_name()}")
        )
        own.mkdir(mode=0o700, exist_ok=True)
        found: list[int] = []
        for core in ordered:
            if len(found) < count and self._lock(own / str(core)):
                found.append(core)
        self.is_exclusive = len(found) == count
        if not self.is_exclusive:
            self.release()
            found = ordered[:count]
        self.cores = frozenset(found)

    def _lock(self, path: Path) -> bool:
        file = os.open(path, os.O_RDWR | os.O_CREAT | operating_system.OPEN_FLAGS, 0o600)
        try:
            operating_system.lock(file, exclusive=True, wait=False)
        except OSError:
            os.close(file)
            return False
        self._files.append(file)
        return True

    def release(self) -> None:
        """Let others have the cores."""
        while self._files:
            with contextlib.suppress(OSError):
                os.close(self._files.pop())
