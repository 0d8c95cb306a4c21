"""Where in the user's source a node came from."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A range of a source file; lines count from 1, columns from 0, and the end is exclusive."""

    filename: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.column + 1}"
