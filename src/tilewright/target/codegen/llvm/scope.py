"""Where instructions go, and which values are known where.

The text of a loop body is kept apart from the text in front of the loop until the loop ends, so an
expression that does not depend on the loop can still be put in front of it. Each computation is
remembered with the region in which its result is available.
"""

from __future__ import annotations

from typing import Any


class Region:
    """A stretch of code: the function, or the body of one loop.

    Attributes:
        lines: the instructions so far.
        header: instructions that must come before `lines` and everything that depends on them;
            they run once per execution of the region's surroundings.
        level: nesting depth of the loops.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.lines: list[str] = []
        self.header: list[str] = []
        self.known: dict[Any, str] = {}
        self.branches: list[dict[Any, str]] = []
        """Values known only inside of branches that are being written, innermost last."""
        self.block = ""
        """The label of the basic block that is being written."""

    def find(self, key: Any) -> str | None:
        """The register that holds the value `key` here."""
        for table in reversed(self.branches):
            found = table.get(key)
            if found is not None:
                return found
        return self.known.get(key)

    def remember(self, key: Any, register: str) -> None:
        """Note that `register` holds the value `key`."""
        table = self.branches[-1] if self.branches else self.known
        table[key] = register
