"""Measure whole models: their time beside torch and onnxruntime, on one thread, and their costs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.compiler.command import as_table as table_of_figures
from benchmarks.compiler.measure import Figure
from benchmarks.harness.child import WRONG
from benchmarks.harness.pairs import run_child
from benchmarks.harness.record import Record
from benchmarks.harness.request import Effort
from benchmarks.harness.table import as_table, wide_console
from benchmarks.models import costs
from benchmarks.models.child import Request, empty_record
from benchmarks.models.peers import PEERS
from benchmarks.models.works import MODELS, Model

FULL, QUICK = Effort(21, 0.02, 30.0), Effort(5, 0.005, 5.0)
CHILD = (sys.executable, "-m", "benchmarks.models.child")
TIME_LIMIT = 600.0
"""Seconds of one pair, the compilers of both included."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks models", description=__doc__)
    result.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names")
    result.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), metavar="PEER",
                        help=f"only beside these: {', '.join(PEERS)}")  # fmt: skip
    result.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    result.add_argument("--no-costs", action="store_true", help="measure times only")
    result.add_argument("--no-times", action="store_true", help="measure costs only")
    result.add_argument("--quick", action="store_true", help="fewer rounds: a first look")
    result.add_argument(
        "--json", type=Path, metavar="FILE", help="write the samples to a file, too"
    )
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    chosen = [m for m in MODELS if not options.only or any(p in m.name for p in options.only)]
    if not chosen:
        parser().error(f"no model has a name with {' or '.join(options.only)}")
    console = wide_console()
    records: list[Record] = []
    figures: list[Figure] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        for model in chosen:
            for peer in [] if options.no_times else options.peers:
                progress.update(task, description=f"{model.name} beside {peer}")
                records.append(measure_pair(model, peer, options))
            if not options.no_costs:
                progress.update(task, description=f"{model.name}: costs")
                figures += costs.measure(model, 1 if options.quick else 3)
        if not options.no_costs:
            figures.append(costs.call_overhead(9))
    if records:
        console.print(as_table(records, {}, "whole models", console.width))
    if figures:
        console.print(table_of_figures({"models": figures}))
    if options.json:
        options.json.write_text(json.dumps([record.as_dictionary() for record in records]))
    if any(record.problem.startswith(WRONG) for record in records):
        raise SystemExit("There are wrong results.")


def measure_pair(model: Model, peer: str, options: argparse.Namespace) -> Record:
    """The record of one model beside one peer, which share a process of their own."""
    effort = QUICK if options.quick else FULL
    request = Request(
        model=model.name,
        peer=peer,
        threads=options.threads,
        **effort._asdict(),
    )
    texts, problem = run_child(CHILD, request, TIME_LIMIT)
    if texts:
        return Record.from_dictionary(json.loads(texts[0]))
    record = empty_record(model, request)
    record.problem = problem
    return record


if __name__ == "__main__":
    main()
