"""`python -m benchmarks onnx-models`: models of ONNX beside onnxruntime, on one thread.

Networks that torch exports, as they are and as onnxruntime's quantiser changes them. The table has
the largest difference of the results (for quantised ones in steps of quantisation), the time of
onnxruntime over ours (median and middle half of rounds in turns), the time of compiling, and the
largest memory of a process that runs the model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from benchmarks.harness.pairs import environment
from benchmarks.harness.record import quartiles, ratios
from benchmarks.harness.units import duration
from benchmarks.onnx_models.files import FORMS, MODELS, Model, write

TOLERANCE: Final = 1e-4
"""The largest difference of floats that is right, relative to the largest if that is over 1."""
TIME_LIMIT: Final = 900.0
"""Seconds of one process."""


def main(arguments: Sequence[str]) -> None:
    """Measure what the options choose, and print the table."""
    options = _parser().parse_args(arguments)
    chosen = [m for m in MODELS if not options.only or any(p in m.name for p in options.only)]
    rows: list[dict[str, Any]] = []
    for model in chosen:
        for form in options.forms:
            row = measure(model, form, options)
            rows.append(row)
            print(*cells(row), sep="  ", file=sys.stderr, flush=True)
    console = Console()
    (console if console.is_terminal else Console(width=140)).print(as_table(rows))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    if any(not row["right"] for row in rows):
        raise SystemExit("There are wrong results, or models that failed.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks onnx-models", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names")
    parser.add_argument(
        "--forms", nargs="+", choices=FORMS, default=["float32", "QDQ"], metavar="FORM",
        help=f"of {', '.join(FORMS)} (default: float32 QDQ)",
    )  # fmt: skip
    parser.add_argument(
        "--floats",
        action="store_true",
        help="multiply what quantised arrays stand for, not their integers",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a first look")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file")
    return parser


def measure(model: Model, form: str, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of a model in one form, or what went wrong."""
    timing = ("5", "5") if options.quick else ("21", "20")  # rounds, and seconds at most
    products = "floats" if options.floats else "integers"
    row: dict[str, Any] = {"model": model.name, "form": form, "right": False}
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        try:
            path = write(model, form, Path(folder))
            row |= _run("measure", str(path), *timing, products)
            row["memory"] = _run("memory", str(path))["mebibytes"]
            row["their memory"] = _run("memory of onnxruntime", str(path))["mebibytes"]
        except Exception as error:
            row["problem"] = f"{type(error).__name__}: {error}"
            return row
    steps = row["steps"]
    row["right"] = max(steps) <= 1.001 if steps else row["apart"] <= TOLERANCE
    return row


def _run(*arguments: str) -> dict[str, Any]:
    """What a process of its own prints."""
    command = [sys.executable, "-m", "benchmarks.onnx_models.child", *arguments]
    result = subprocess.run(
        command, env=environment(1), capture_output=True, text=True, timeout=TIME_LIMIT
    )
    if result.returncode:
        raise RuntimeError((result.stderr.strip().splitlines() or ["it crashed"])[-1])
    return json.loads(result.stdout.splitlines()[-1])


def as_table(rows: Sequence[dict[str, Any]]) -> Table:
    """One row a model and form."""
    table = Table(title="models of ONNX beside onnxruntime, one thread", title_justify="left")
    for name in ("model", "form", "apart", "ours", "onnxruntime", "ratio", "middle half",
                 "compiling", "memory", "its memory"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("model", "form") else "right")
    for row in rows:
        table.add_row(*cells(row))
    return table


def cells(row: dict[str, Any]) -> list[str]:
    """The figures of a row as texts."""
    if "problem" in row:
        return [row["model"], row["form"], row["problem"]]
    of_each = ratios(row["ours"], row["theirs"])
    low, high = quartiles(of_each)
    steps = row["steps"]
    apart = f"{max(steps):.2g} steps" if steps else f"{row['apart']:.1e}"
    return [
        row["model"], row["form"], apart if row["right"] else f"wrong: {apart}",
        duration(statistics.median(row["ours"])), duration(statistics.median(row["theirs"])),
        f"{statistics.median(of_each):.2f}", f"{low:.2f}-{high:.2f}", f"{row['compiling']:.1f} s",
        f"{row['memory']:.0f} MiB", f"{row['their memory']:.0f} MiB",
    ]  # fmt: skip
