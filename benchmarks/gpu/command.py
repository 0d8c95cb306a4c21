"""Measure code for GPUs beside torch on the same GPU; results are compared with a reference first.

Each work runs in a process of its own, in turns with the peer, so that a fault or a hang costs its
row alone. Without a GPU, small works run on an OpenCL device, beside programs with a thread for
each element: that shows that all of it runs, and says nothing about GPUs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

import tilewright as tvm
from benchmarks.gpu.child import RESNET, SIZES, Record, Request, ratios, resnet_shape
from benchmarks.gpu.works import chosen, works
from benchmarks.harness.units import duration

ROOT: Final = Path(__file__).parents[2]


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    result.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names")
    result.add_argument("--device", choices=("cuda", "opencl"), help="default: cuda if it is here")
    result.add_argument("--sizes", choices=tuple(SIZES), help="default: those that suit the device")
    result.add_argument("--trials", type=int, default=0, metavar="N",
                        help="also measure what the tuner finds in so many trials")  # fmt: skip
    result.add_argument("--rounds", type=int, default=21, metavar="N")
    result.add_argument("--limit", type=float, default=300, metavar="SECONDS",
                        help="how long a work may take, building included")  # fmt: skip
    result.add_argument("--output", type=Path, metavar="FILE", help="the samples, as JSON")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    device = options.device or ("cuda" if tvm.cuda(0).exist else "opencl")
    sizes = options.sizes or ("gpu" if device == "cuda" else "small")
    names = [work.name for work in chosen(works(SIZES[sizes], device == "cuda"), options.only)]
    resnet = RESNET.format(resnet_shape(sizes)[0], *(resnet_shape(sizes)[1],) * 2)
    if not options.only or any(part in resnet for part in options.only):
        names.append(resnet)
    if not names:
        parser().error(f"no work has a name with {' or '.join(options.only)}")
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(headline(device))
    records = []
    for name in names:
        for trials in (0, options.trials) if options.trials and name != resnet else (0,):
            request = Request(name, device, sizes, trials, options.rounds)
            records.append(in_a_process(request, options.limit))
            console.print(row_text(records[-1]), highlight=False)
            if options.output:  # what is there stays, whatever becomes of the others
                text = json.dumps([asdict(record) for record in records], indent=1)
                options.output.write_text(text)
    console.print(as_table(records))
    if any("WRONG" in record.problem for record in records):
        raise SystemExit("a result is wrong")


def headline(device: str) -> str:
    """On what all of it is measured."""
    found = tvm.device(device, 0)
    if not found.exist:
        raise SystemExit(f"there is no device {device}(0)")
    if device == "cuda":
        return f"{found.device_name}, compute capability {found.compute_version}, beside torch"
    return (
        f"THIS IS NO GPU: {found.device_name}, an OpenCL device, runs small works beside a thread "
        "for each element.\nThe figures say that the programs run, and nothing about GPUs."
    )


def in_a_process(request: Request, limit: float) -> Record:
    """Measure a work in a process of its own, which may fail or hang."""
    command = [sys.executable, "-m", "benchmarks.gpu.child", json.dumps(asdict(request))]
    schedule = "tuned" if request.trials else "default"
    failed = Record(request.work, schedule, "")
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        failed.problem = f"took longer than {limit:g} s"
        return failed
    try:
        return Record(**json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        last = (done.stderr.strip().splitlines() or [""])[-1]
        failed.problem = f"ended with status {done.returncode}: {last}"
        return failed


COLUMNS: Final = (
    "work", "schedule", "ours", "peer's", "ratio", "middle half", "share of the roof", "aim",
)  # fmt: skip


def cells(record: Record) -> list[str]:
    """The row of a work."""
    if not record.ours:
        return [record.work, record.schedule, record.problem, "", "", "", "", ""]
    ours, found = statistics.median(record.ours), ratios(record)
    share = f"{record.least / ours:.0%}" if record.least else ""
    start = [record.work, record.schedule, duration(ours)]
    if found is None:
        return [*start, record.problem, "", "", share, ""]
    low, median, high = found
    met = "met" if median >= record.aim else "missed"
    aim = f"{record.aim:g} {met}" if record.aim else ""
    theirs = duration(statistics.median(record.theirs))
    return [*start, theirs, f"{median:.2f}", f"{low:.2f} to {high:.2f}", share, aim]


def row_text(record: Record) -> str:
    """The row in one line, which is shown while others are measured."""
    return "  ".join(cell for cell in cells(record) if cell)


def as_table(records: Sequence[Record]) -> Table:
    """The works in rows."""
    peers = sorted({record.peer for record in records if record.peer})
    title = f"the time of {' or of '.join(peers)} over ours; above 1 ours is faster"
    table = Table(title=title, title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("work", "schedule") else "right")
    for record in records:
        table.add_row(*cells(record))
    return table
