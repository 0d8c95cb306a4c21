"""Tune works, and measure what was found beside other packages.

Each work is tuned on one core in a process of its own. What was found is then timed in turns with
each of its peers, as in `python -m benchmarks suite`, and with what the MetaSchedule of Apache TVM
finds in as many trials if there is an environment that has it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import ours, tvm_peer
from benchmarks.harness.child import APACHE_TUNED, Request
from benchmarks.harness.pairs import ROOT, environment, measure_pair
from benchmarks.harness.registry import Entry, entries, select
from benchmarks.harness.results import Results, describe_machine, measure_peaks
from benchmarks.harness.table import as_table
from benchmarks.tuner.places import APACHE, OURS, folder_of, noted
from tilewright.target import Target

RESULTS = ROOT / "benchmarks" / "results" / "tuner"
TIME_LIMIT = 3600.0


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks tuner", description=__doc__)
    result.add_argument(
        "--only", nargs="+", default=[], metavar="PATTERN",
        help="families, or parts of names of works (default: those with an aim for tuning)",
    )  # fmt: skip
    result.add_argument(
        "--trials", type=int, default=64, metavar="N", help="how many candidates are measured"
    )
    result.add_argument(
        "--tvm", type=Path, metavar="PYTHON",
        help="the Python of an environment with apache-tvm, whose MetaSchedule is compared",
    )  # fmt: skip
    result.add_argument(
        "--keep", action="store_true", help="don't tune again what has been tuned in DIR"
    )
    result.add_argument("--rounds", type=int, default=21, metavar="N")
    result.add_argument(
        "--output", type=Path, default=RESULTS, metavar="DIR",
        help=f"where the results go (default: {RESULTS})",
    )  # fmt: skip
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 180)
    chosen = select(entries(), options.only)
    if not options.only:
        chosen = [entry for entry in chosen if entry.work.tuned_aim]
    results = Results(describe_machine(), {1: measure_peaks(1)})
    for entry in chosen:
        tune(entry, options, console)
        peers = [*entry.work.peers, *([APACHE_TUNED] if options.tvm else [])]
        for peer in peers:
            request = Request(
                entry.work.name, peer, 1, (ours.TUNED,), options.rounds, 0.01, 15.0, output="",
                tuned=str(options.output.absolute()),
            )  # fmt: skip
            results.add(measure_pair(entry, request))
        results.save(options.output)
    console.print(as_table(results.records, results.peaks, results.title, console.width))
    console.print(results.summary())
    console.print(times(chosen, options.output))


def tune(entry: Entry, options: argparse.Namespace, console: Console) -> None:
    """Tune a work with ours, and with Apache TVM if that is asked for."""
    name, trials = entry.work.name, str(options.trials)
    folder = folder_of(options.output.absolute(), name, OURS)
    if not (options.keep and noted(folder)):
        console.print(f"tuning {name}", highlight=False)
        run([sys.executable, "-m", "benchmarks.tuner.tune_ours", name, trials, str(folder)])
    folder = folder_of(options.output.absolute(), name, APACHE)
    if options.tvm and not (options.keep and noted(folder)):
        console.print(f"tuning {name} with {APACHE}", highlight=False)
        folder.mkdir(parents=True, exist_ok=True)
        script = folder / "program.py"
        script.write_text(tvm_peer.in_new_dialect(entry.work.program().script()), encoding="utf-8")
        child = str(Path(__file__).with_name("tune_apache.py"))
        cpu = Target("llvm").cpu
        run([str(options.tvm), child, str(script), cpu, trials, str(folder)])


def run(command: list[str]) -> None:
    """Run a child whose output goes to the console if it fails."""
    done = subprocess.run(
        command, env=environment(1), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=TIME_LIMIT, check=False,
    )  # fmt: skip
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)


def times(chosen: Sequence[Entry], folder: Path) -> Table:
    """How long tuning took."""
    table = Table(title="seconds of tuning", title_justify="left")
    for name in ("work", "trials", OURS, APACHE):
        table.add_column(name, justify="left" if name == "work" else "right")
    for entry in chosen:
        mine, its = (noted(folder_of(folder, entry.work.name, who)) for who in (OURS, APACHE))
        shown = [f"{facts['seconds']:.1f}" if facts else "" for facts in (mine, its)]
        table.add_row(entry.work.name, str(mine.get("trials", "")), *shown)
    return table
