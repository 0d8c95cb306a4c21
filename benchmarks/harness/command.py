"""Measure works beside other packages, and write tables of it.

Every work is measured beside each of its peers in a process of its own, in turns, on one thread and
on two; every result is compared with a reference in float64 first.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.harness import cpu, ours
from benchmarks.harness.child import WRONG, Request
from benchmarks.harness.pairs import ROOT, measure_pair, pairs
from benchmarks.harness.registry import Entry, entries, select
from benchmarks.harness.request import Effort
from benchmarks.harness.results import JSON, Results, describe_machine, measure_peaks
from benchmarks.harness.table import as_table, wide_console

RESULTS = ROOT / "benchmarks" / "results"
FULL, QUICK = Effort(31, 0.01, 15.0), Effort(7, 0.003, 2.0)


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks suite", description=__doc__)
    result.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="families, or parts of names of works (with * as in file names)",
    )
    result.add_argument(
        "--threads",
        type=thread_counts,
        default=[1, 2],
        metavar="1,2",
        help="on how many threads to measure (default: 1,2)",
    )
    result.add_argument(
        "--peers",
        nargs="+",
        metavar="PEER",
        help="only beside these: numpy, torch, torch.compile, onnxruntime, ...",
    )
    result.add_argument(
        "--schedules",
        nargs="+",
        choices=(ours.HAND, ours.DEFAULT),
        default=[ours.HAND, ours.DEFAULT],
        help="only these schedules of ours",
    )
    result.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help=f"how often each pair is timed in turns (default: {FULL.rounds})",
    )
    result.add_argument(
        "--cpu",
        choices=tuple(cpu.LIMITS),
        default="",
        help="compile for this level of x86-64, and hold the peers to it (onnxruntime cannot be)",
    )
    result.add_argument(
        "--quick",
        action="store_true",
        help="fewer and shorter rounds: a first look, no figures to rely on",
    )
    result.add_argument(
        "--output",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help=f"where the results go (default: {RESULTS})",
    )
    result.add_argument(
        "--merge",
        action="store_true",
        help="keep what is in DIR already, and replace what is measured anew",
    )
    result.add_argument("--list", action="store_true", help="list the works and leave")
    return result  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    try:
        chosen = select(entries(), options.only)
    except ValueError as error:
        parser().error(str(error))
    console = wide_console()
    if options.list:
        for entry in chosen:
            console.print(f"{entry.family:12} {entry.work.name}", highlight=False)
        return
    os.environ.update(cpu.environment(options.cpu))
    if not list(pairs(chosen, options.threads, options.peers)):
        parser().error(f"none of these works has a peer {' or '.join(options.peers)}")
    results = run(chosen, options, console)
    console.print(as_table(results.records, results.peaks, results.title, console.width))
    console.print(results.summary())
    for path in results.save(options.output):
        console.print(f"written: {path}", highlight=False)
    if any(record.problem.startswith(WRONG) for record in results.records):
        raise SystemExit("There are wrong results.")


def run(chosen: Sequence[Entry], options: argparse.Namespace, console: Console) -> Results:
    """Measure everything that the options ask for."""
    results = Results(describe_machine())
    if options.merge and (options.output / JSON).exists():
        results = Results.load(options.output)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    todo = list(pairs(chosen, options.threads, options.peers))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("peaks of this machine", total=len(todo))
        for threads in options.threads:
            if threads not in results.peaks:
                results.peaks[threads] = measure_peaks(threads)
        for entry, peer, threads in todo:
            progress.update(task, description=f"{entry.work.name}, {peer}, {threads} thr")
            schedules = [s for s in ours.schedules(entry.work) if s in options.schedules]
            results.add(measure_pair(entry, request(options, entry, peer, threads, schedules)))
            progress.advance(task)
            # A run that is broken off leaves what it has found.
            results.save(options.output)
    results.sort([entry.work.name for entry in entries()])
    return results


def request(
    options: argparse.Namespace, entry: Entry, peer: str, threads: int, schedules: list[str]
) -> Request:
    """What a child is to measure."""
    effort = QUICK if options.quick else FULL
    if options.rounds:
        effort = effort._replace(rounds=options.rounds)
    return Request(
        work=entry.work.name,
        peer=peer,
        threads=threads,
        schedules=tuple(schedules),
        **effort._asdict(),
    )


def thread_counts(text: str) -> list[int]:
    """``1,2``"""
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise ValueError("at least one thread")
    return counts
