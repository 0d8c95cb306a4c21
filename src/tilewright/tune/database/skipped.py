"""Lines of a record file that are skipped, and how that is told."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_logger = logging.getLogger(__name__)

_SHOWN: Final = 10


class SkippedLine(NamedTuple):
    """A line that cannot be used.

    Attributes:
        path: of the file.
        number: of the line.
        reason: what is wrong with it.
    """

    path: Path
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}: {self.reason}"


def report(lines: Sequence[SkippedLine]) -> None:
    """Log which lines are skipped, and why."""
    if not lines:
        return
    shown = "\n".join(f"  {line}" for line in lines[:_SHOWN])
    more = f"\n  and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    _logger.warning("skipped %s of tuning records:\n%s%s", count, shown, more)
