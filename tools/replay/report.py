"""What differs, as a table and as lines."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text
from tools.replay.collection import Pair
from tools.replay.program import STAGES, Texts

MOST_LINES = 60
"""Lines of a difference that are shown."""

CONTEXT = 3
COLOURS = {"+": "green", "-": "red", "@": "cyan"}


class Difference(NamedTuple):
    """A program whose texts differ.

    Attributes:
        pair: the program and its target.
        stages: what differs, in the order of `STAGES`.
        before: the texts of the base.
        after: those of the working tree.
    """

    pair: Pair
    stages: tuple[str, ...]
    before: Texts
    after: Texts


def difference(pair: Pair, before: Texts, after: Texts) -> Difference | None:
    """What differs between two compilations; None if nothing does."""
    stages = tuple(stage for stage in STAGES if before.get(stage) != after.get(stage))
    return Difference(pair, stages, before, after) if stages else None


def table(found: Sequence[Difference]) -> Table:
    """A row for each program that differs."""
    result = Table(title="What differs", title_justify="left")
    result.add_column("program", overflow="fold")
    result.add_column("target")
    result.add_column("what differs", overflow="fold")
    previous = ""
    for item in found:
        name = "" if item.pair.program == previous else item.pair.program
        stages = ", ".join(STAGES[stage] for stage in item.stages)
        result.add_row(Text(name), item.pair.target, stages)
        previous = item.pair.program
    return result


def show(item: Difference, console: Console) -> None:
    """Print the first stage that differs, line by line."""
    stage = item.stages[0]
    title = f"{item.pair.program}, {item.pair.target}: {STAGES[stage]}"
    console.print(Text(f"\n{title}", style="bold"))
    lines = changed_lines(item.before.get(stage), item.after.get(stage))
    for line in lines[:MOST_LINES]:
        console.print(Text(line, style=COLOURS.get(line[:1], "")), soft_wrap=True)
    if len(lines) > MOST_LINES:
        console.print(f"... and {len(lines) - MOST_LINES} more lines")


def changed_lines(before: str | None, after: str | None) -> list[str]:
    """A unified diff of two texts, of which one may be missing."""
    if before is None or after is None:
        text, sign = (after, "+") if before is None else (before, "-")
        return [f"{sign}{line}" for line in (text or "").splitlines()]
    old, new = before.splitlines(), after.splitlines()
    # What is equal at both ends takes most of the time, and is left out.
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    lines = list(difflib.unified_diff(old, new, n=CONTEXT, lineterm=""))[3:]
    return [f"@@ from line {first + 1} @@", *lines]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many of the first lines are equal."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))
