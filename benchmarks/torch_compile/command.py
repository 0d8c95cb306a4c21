"""Measure `torch.compile(model, backend="tilewright")` on models of torchvision, timm and
transformers with random weights: whether results equal those of eager torch, how much of a model
runs in torch itself, what the first call takes, and latency beside eager torch and Inductor."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.harness.child import WRONG
from benchmarks.harness.pairs import run_child
from benchmarks.harness.record import Record, quartiles
from benchmarks.harness.request import Effort
from benchmarks.harness.table import wide_console
from benchmarks.harness.units import duration
from benchmarks.torch_compile.child import EAGER, INDUCTOR, Outcome, Request
from benchmarks.torch_compile.zoo import ENTRIES, Entry

FULL, QUICK = Effort(15, 0.02, 20.0), Effort(5, 0.005, 3.0)
CHILD = (sys.executable, "-m", "benchmarks.torch_compile.child")
TIME_LIMIT = 900.0
"""Seconds of one model, all compilers included."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks torch_compile", description=__doc__)
    result.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names")
    result.add_argument("--peers", nargs="*", choices=(EAGER, INDUCTOR), metavar="PEER",
                        default=[EAGER, INDUCTOR], help="only beside these")  # fmt: skip
    result.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    result.add_argument("--quick", action="store_true", help="fewer rounds: a first look")
    result.add_argument("--list", action="store_true", help="print the names only")
    result.add_argument("--json", type=Path, metavar="FILE",
                        help="write outcomes to this file, one line each, and keep those that "
                        "it has")  # fmt: skip
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    entries = [entry for entry in ENTRIES if _is_chosen(entry, options.only)]
    if not entries:
        parser().error(f"no model has a name with {' or '.join(options.only)}")
    if options.list:
        print(*(entry.title for entry in entries), sep="\n")
        return
    console = wide_console()
    outcomes = list(_measured(entries, options, console))
    console.print(as_table(outcomes))
    console.print(in_short(outcomes))
    if any(outcome.problem.startswith(WRONG) for outcome in outcomes):
        raise SystemExit("There are wrong results.")


def _is_chosen(entry: Entry, parts: Sequence[str]) -> bool:
    return not parts or any(part in entry.title for part in parts)


def _measured(
    entries: Sequence[Entry], options: argparse.Namespace, console: Console
) -> Iterator[Outcome]:
    """The outcome of each model, from the file if it is there."""
    known = {outcome.model: outcome for outcome in read(options.json)}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        for position, entry in enumerate(entries):
            progress.update(task, description=f"{position + 1}/{len(entries)} {entry.title}")
            if entry.title in known:
                yield known[entry.title]
                continue
            outcome = measure(entry, options)
            if options.json:
                with options.json.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(outcome.as_dictionary()) + "\n")
            yield outcome


def read(path: Path | None) -> list[Outcome]:
    """The outcomes in a file; none if it does not exist."""
    if path is None or not path.exists():
        return []
    return [Outcome.from_dictionary(json.loads(line)) for line in path.read_text().splitlines()]


def measure(entry: Entry, options: argparse.Namespace) -> Outcome:
    """The outcome of one model, in a process of its own."""
    effort = QUICK if options.quick else FULL
    request = Request(
        model=entry.title,
        peers=tuple(options.peers),
        threads=options.threads,
        **effort._asdict(),
    )
    texts, problem = run_child(CHILD, request, TIME_LIMIT)
    if texts:
        return Outcome.from_dictionary(json.loads(texts[0]))
    return Outcome(entry.title, problem=problem)


# --- the table --------------------------------------------------------------------------------


def as_table(outcomes: Sequence[Outcome]) -> Table:
    """One row a model."""
    table = Table(title='torch.compile(model, backend="tilewright")', title_justify="left")
    table.add_column("model", overflow="fold")
    for name in ("error", "graphs", "in torch", "first call", "inductor's", "latency",
                 "eager / ours", "middle half", "inductor / ours", "middle half"):  # fmt: skip
        table.add_column(name, justify="right")
    table.add_column("note", overflow="fold", min_width=12)
    for outcome in outcomes:
        table.add_row(*row(outcome))
    return table


def row(outcome: Outcome) -> list[str]:
    """The cells of a model."""
    records = {record.peer: record for record in outcome.records}
    seconds = next(iter(outcome.records)).seconds if outcome.records else None
    notes = [outcome.problem, *outcome.fallbacks]
    return [
        outcome.model,
        "" if outcome.error is None else f"{outcome.error:.1e}",
        str(outcome.graphs or ""),
        str(len(outcome.fallbacks)),
        *(f"{outcome.first[name]:.1f} s" if name in outcome.first else ""
          for name in ("tilewright", INDUCTOR)),
        duration(seconds),
        *_ratio(records.get(EAGER)),
        *_ratio(records.get(INDUCTOR)),
        "; ".join(note for note in notes if note)[:200].replace("[", r"\["),
    ]  # fmt: skip


def _ratio(record: Record | None) -> tuple[str, str]:
    if record is None or record.ratio is None:
        return "", ""
    low, high = quartiles(record.ratios)
    return f"{record.ratio:.2f}", f"{low:.2f} - {high:.2f}"


def in_short(outcomes: Sequence[Outcome]) -> str:
    """What all rows say together."""
    equal = [o for o in outcomes if o.error is not None and not o.problem.startswith(WRONG)]
    whole = [outcome for outcome in equal if not outcome.fallbacks]
    lines = [
        f"{len(outcomes)} models: {len(equal)} equal to eager, "
        f"{len(whole)} of these without a graph in torch"
    ]
    if equal:
        lines.append(f"largest error {max(outcome.error or 0.0 for outcome in equal):.1e}")
    for peer in (EAGER, INDUCTOR):
        ratios = [r.ratio for o in outcomes for r in o.records if r.peer == peer and r.ratio]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append(f"{peer} / ours: geometric mean {mean:.2f} of {len(ratios)} models, "
                         f"{min(ratios):.2f} to {max(ratios):.2f}")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    main()
