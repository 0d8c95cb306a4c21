"""Measure the compiler itself, everything or some groups of figures, and show a table."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from threadpoolctl import threadpool_limits

from benchmarks.compiler import (
    calls,
    compilation,
    functions,
    ir,
    kernels,
    operators,
    schedules,
    simplification,
    startup,
    text,
    threads,
)
from benchmarks.compiler.measure import Figure

GROUPS: dict[str, Callable[[int], list[Figure]]] = {
    "startup": startup.measure,
    "compilation": compilation.measure,
    "calls": calls.measure,
    "ir": ir.measure,
    "text": text.measure,
    "simplification": simplification.measure,
    "schedules": schedules.measure,
    "kernels": kernels.measure,
    "operators": operators.measure,
    "functions": functions.measure,
    "threads": threads.measure,
}
REPEAT, REPEAT_QUICK = 9, 3


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks compiler", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=GROUPS, metavar="GROUP",
                        help=f"measure these groups: {', '.join(GROUPS)}")  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file as well")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args(arguments)
    repeat = REPEAT_QUICK if options.quick else REPEAT
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    figures: dict[str, list[Figure]] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        threadpool_limits(limits=1),
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task("")
        for group in options.only or GROUPS:
            progress.update(task, description=f"measuring: {group}")
            figures[group] = GROUPS[group](repeat)
    console.print(as_table(figures))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as stream:
            json.dump(as_dictionary(figures), stream, indent=2)
        console.print(f"written to {options.json}")


def as_table(figures: dict[str, list[Figure]]) -> Table:
    """The figures for people."""
    table = Table(title=platform.processor() or platform.machine())
    table.add_column("group")
    table.add_column("figure", overflow="fold")
    for name in ("median", "middle half", "aim"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for group, rows in figures.items():
        for position, figure in enumerate(rows):
            low, high = figure.quartiles
            style = {True: "green", False: "yellow", None: ""}[figure.reached]
            sign = "" if figure.aim is None else (">= " if figure.unit == "x" else "<= ")
            aim = "" if figure.aim is None else f"{sign}{show(figure.aim)}"
            table.add_row(
                group if position == 0 else "", figure.name,
                f"[{style}]{show(figure.median)} {figure.unit}[/]" if style
                else f"{show(figure.median)} {figure.unit}",
                f"{show(low)} - {show(high)}", aim, figure.note,
            )  # fmt: skip
        table.add_section()
    return table


def show(value: float) -> str:
    """Three significant digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def as_dictionary(figures: dict[str, list[Figure]]) -> dict[str, object]:
    """The figures for programs."""
    return {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "groups": {
            group: [
                {**figure._asdict(), "values": list(figure.values), "median": figure.median}
                for figure in rows
            ]
            for group, rows in figures.items()
        },
    }
