"""Tune the same workloads through each front door of the tuner, with as many trials each.

The results, the default schedule and those of numpy and torch run in turns in one process. The
ratio is the time with the default schedule over that of a program, round by round: above 1 it is
faster. The default schedule is built a second time, and the ratio of that shows the noise: a
program is no slower if the upper quartile of its ratios is below 1 by no more than that.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.doors import lines
from benchmarks.doors.child import AGAIN, DEFAULT, Request, Row
from benchmarks.doors.searches import DOORS
from benchmarks.doors.workloads import SMALL, WORKLOADS
from benchmarks.harness.child import WRONG
from benchmarks.harness.pairs import run_child
from benchmarks.harness.record import quartiles, ratios
from benchmarks.harness.request import Effort

CHILD = (sys.executable, "-m", "benchmarks.doors.child")
FULL, QUICK = Effort(31, 0.02, 60.0), Effort(3, 0.001, 2.0)
TRIALS, TRIALS_QUICK = 64, 2


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks doors", description=__doc__)
    result.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names")
    result.add_argument("--trials", type=int, metavar="N",
                        help=f"of each front door (default: {TRIALS})")  # fmt: skip
    result.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    result.add_argument("--rounds", type=int, metavar="N",
                        help=f"how often everything is timed (default: {FULL.rounds})")  # fmt: skip
    result.add_argument("--seconds", type=float, default=1800.0, metavar="N",
                        help="after which a workload is given up (default: 1800)")  # fmt: skip
    result.add_argument("--quick", action="store_true",
                        help="small sizes and few trials: no figures to rely on")  # fmt: skip
    result.add_argument("--lines", action="store_true",
                        help="only count the lines of code of the front doors")  # fmt: skip
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 140)
    if options.lines:
        console.print(lines.as_table())
        return
    known = SMALL if options.quick else WORKLOADS
    chosen = [n for n in known if not options.only or any(part in n for part in options.only)]
    if not chosen:
        parser().error(f"no workload has a name with {' or '.join(options.only)}")
    found: dict[str, list[Row]] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        for name in chosen:
            progress.update(task, description=f"tuning {name}")
            found[name] = measure(name, options)
    console.print(as_table(found, options.threads))
    for name, rows in found.items():
        for row in rows:
            if row.problem:
                console.print(f"{name}, {row.name}: {row.problem}", markup=False)
    console.print(lines.as_table())
    if any(row.problem.startswith(WRONG) for rows in found.values() for row in rows):
        raise SystemExit("There are wrong results.")


def measure(name: str, options: argparse.Namespace) -> list[Row]:
    """The rows of a workload."""
    effort = QUICK if options.quick else FULL
    if options.rounds:
        effort = effort._replace(rounds=options.rounds)
    request = Request(
        workload=name,
        trials=options.trials or (TRIALS_QUICK if options.quick else TRIALS),
        threads=options.threads,
        **effort._asdict(),
    )
    texts, problem = run_child(CHILD, request, options.seconds)
    return [Row(**json.loads(text)) for text in texts] or [Row(DEFAULT, problem=problem)]


def as_table(found: dict[str, list[Row]], threads: int) -> Table:
    """The programs in rows, those of a workload together."""
    title = f"the front doors beside the default schedule, number of threads: {threads}"
    table = Table(title=title, title_justify="left")
    for column in ("workload", "by", "trials", "search s", "ms", "ratio", "middle half",
                   "no slower"):  # fmt: skip
        table.add_column(column, justify="left" if column in ("workload", "by") else "right")
    for workload, rows in found.items():
        seconds = {row.name: row.seconds for row in rows}
        for position, row in enumerate(rows):
            table.add_row(
                "" if position else workload, row.name,
                "" if row.trials is None else str(row.trials),
                "" if row.searched is None else f"{row.searched:.1f}",
                *(times(row, seconds) if row.seconds else ("failed",)),
            )  # fmt: skip
        table.add_section()
    return table


def times(row: Row, seconds: Mapping[str, Sequence[float]]) -> list[str]:
    """The cells of times and ratios, from the samples of all rows of the workload."""
    milliseconds = f"{statistics.median(row.seconds) * 1e3:.4f}"
    default, again = (seconds.get(name, []) for name in (DEFAULT, AGAIN))
    if row.name == DEFAULT or not default:
        return [milliseconds]
    compared = ratios(row.seconds, default)
    low, high = quartiles(compared)
    cells = [milliseconds, f"{statistics.median(compared):.3f}", f"{low:.3f} - {high:.3f}"]
    if row.name not in DOORS or not again:
        return cells
    return [*cells, "yes" if no_slower(compared, ratios(again, default)) else "[red]no[/]"]


def no_slower(compared: Sequence[float], control: Sequence[float]) -> bool:
    """Whether a program is no slower than the default schedule, within the noise.

    Args:
        compared: the time of the default schedule over that of the program, of each round.
        control: the same of the default schedule that was built again.

    Returns:
        Whether the upper quartile of the program is below 1 by no more than a quartile of the
        control is off from 1.
    """
    noise = max(abs(1.0 - quartile) for quartile in quartiles(control))
    return quartiles(compared)[1] >= 1.0 - noise
