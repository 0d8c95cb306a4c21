"""The records as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.harness.record import Record, quartiles
from benchmarks.harness.units import duration, unit
from tilewright.runtime.peaks import Bound, Peaks

MEASURED: Final = (
    "ours", "peer's", "ratio", "middle half", "by clock", "rounds", "speed", "share"
)  # fmt: skip
NARROW: Final = ("ours", "peer's", "ratio", "middle half", "speed", "share")
WIDE: Final = 180
"""Characters of a table with all columns."""


def as_table(
    records: Sequence[Record], peaks: Mapping[int, Peaks], title: str, width: int = WIDE
) -> Table:
    """One row a record, the rows of a work together; some columns only where there is room."""
    table = Table(title=title, title_justify="left")
    table.add_column("work", overflow="fold", min_width=16)
    table.add_column("schedule")
    table.add_column("thr", justify="right")
    table.add_column("peer", no_wrap=True)
    for name in MEASURED if width >= WIDE else NARROW:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("aim", no_wrap=True)
    table.add_column("note", overflow="fold", min_width=12)
    previous: Record | None = None
    for record in records:
        same_work = previous is not None and previous.work == record.work
        if previous is not None and not same_work:
            table.add_section()
        cells = measured(record, peaks.get(record.threads))
        table.add_row(
            "" if same_work else record.work, record.schedule, str(record.threads), record.peer,
            *(cells[name] for name in (MEASURED if width >= WIDE else NARROW)), verdict(record),
            note(record),
        )  # fmt: skip
        previous = record
    return table


def measured(record: Record, peaks: Peaks | None) -> dict[str, str]:
    """The cells of times, ratio and speed."""
    cells = dict.fromkeys(MEASURED, "")
    cells["ours"] = duration(record.seconds)
    cells["peer's"] = duration(record.their_seconds)
    cells["rounds"] = str(len(record.ours) or "")
    cells["speed"] = speed(record)
    cells["share"] = share(record, peaks)
    if record.ratio is not None:
        low, high = quartiles(record.ratios)
        cells["ratio"] = f"{record.ratio:.3g}"
        cells["middle half"] = f"{low:.3g} - {high:.3g}"
        cells["by clock"] = f"{statistics.median(record.wall_ratios):.3g}"
    return cells


def verdict(record: Record) -> str:
    """The aim, and whether it is met."""
    if record.aim is None:
        return ""
    words = {True: "[green]met[/]", False: "[red]missed[/]", None: "unknown"}
    return f">= {record.aim:g} {words[record.reached]}"


def note(record: Record) -> str:
    """Why something is missing, or worth little."""
    busy = "the machine was busy" if record.disturbed else ""
    return "; ".join(part for part in (record.problem, busy) if part).replace("[", r"\[")


def speed(record: Record) -> str:
    """Operations or bytes per second."""
    if record.seconds is None:
        return ""
    if record.flop:
        return f"{record.flop / record.seconds * 1e-9:.3g} {unit(record.dtype)}"
    return f"{record.bytes / record.seconds * 1e-9:.3g} GB/s" if record.bytes else ""


def share(record: Record, peaks: Peaks | None) -> str:
    """How much of what the machine can do was reached, and what limits it."""
    if record.seconds is None or peaks is None:
        return ""
    bounds = [peaks.bound(record.dtype, record.flop, record.bytes)]
    if record.ports and "float32" in peaks.operations:
        bounds.append(Bound(record.ports / peaks.operations["float32"], "ports"))
    bound = max((found for found in bounds if found is not None), default=None)
    if bound is None:
        return ""
    return f"{bound.seconds / record.seconds:.0%} {bound.limit}"


def wide_console() -> Console:
    """A console that leaves tables whole where output is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=180)
