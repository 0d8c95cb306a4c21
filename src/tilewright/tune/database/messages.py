"""Messages about records that cannot be read or written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tilewright.error import DatabaseError

_logger = logging.getLogger(__name__)

_SHOWN: Final = 10


class SkippedLine(NamedTuple):
    """A line that cannot be used.

    Attributes:
        path: of the file.
        number: of the line.
        reason: the defect.
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


def kept_in_memory(error: DatabaseError, count: int) -> DatabaseError:
    """The error of a write, with what becomes of the records."""
    records = "1 unwritten record is" if count == 1 else f"{count} unwritten records are"
    return DatabaseError(
        f"{error}; {records} kept in memory, and will be written with the next: free some space, "
        "or add them to another database"
    )
