"""Candidates that could not be measured, counted by reason."""

from __future__ import annotations

from typing import Final

EXAMPLE_LINES: Final = 12
"""How much of an error message is shown."""

CANCELLED: Final = "cancelled"
"""The kind of error of candidates that nobody waited for."""


class FailureTally:
    """How many candidates failed for which reason, with an example of each."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def add(self, kind: str | None, message: str | None) -> None:
        """Count a candidate that failed."""
        reason = kind or "unknown"
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.examples.setdefault(reason, (message or "").strip())

    @property
    def total(self) -> int:
        """How many candidates failed."""
        return sum(self.counts.values())

    def by_count(self) -> list[tuple[str, int]]:
        """Reasons and their counts, the most frequent first."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))

    def __str__(self) -> str:
        """The reasons in one line: ``12 timeout, 3 build``."""
        return ", ".join(f"{count} {reason}" for reason, count in self.by_count())

    def describe(self) -> str:
        """Every reason with its count and the message of the first candidate."""
        parts = []
        for reason, count in self.by_count():
            lines = self.examples[reason].splitlines() or ["(no message)"]
            if len(lines) > EXAMPLE_LINES:
                half = EXAMPLE_LINES // 2
                lines = [*lines[:half], "...", *lines[-half:]]
            example = "\n".join(f"    {line}" for line in lines)
            parts.append(f"  {count} x {reason}, for example:\n{example}")
        return "\n".join(parts)
