"""Tune programs and models, and time what was found in turns with the default schedule.

The ratio is the time with the default schedule over that of what was tuned: above 1 tuning gains.
Both run in turns, on one core, and what counts is the processor time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import tilewright as tvm
from benchmarks.gains.works import MODELS, PROGRAMS
from tilewright import meta_schedule as ms
from tilewright import relax
from tilewright.meta_schedule import relax_integration
from tilewright.tir.schedule import Schedule

TARGET: Final = "llvm -num-cores=1"
TURN: Final = 0.02
"""Seconds of a turn, at least."""


class Gain(NamedTuple):
    """What came of a work.

    Attributes:
        name: of the work.
        default: median seconds of a run with the default schedule.
        tuned: the same with what was found.
        ratios: the former over the latter, of each round.
        wall: seconds of tuning.
        processor: processor seconds of tuning, in all processes.
        records: measured candidates.
    """

    name: str
    default: float
    tuned: float
    ratios: list[float]
    wall: float
    processor: float
    records: int


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks gains", description=__doc__)
    result.add_argument("--only", nargs="+", default=[], metavar="PART",
                        help="parts of names (default: all programs)")  # fmt: skip
    result.add_argument("--trials", type=int, default=None, metavar="N",
                        help="candidates to measure (default for programs: 64)")  # fmt: skip
    result.add_argument("--seconds", type=float, default=None, metavar="N",
                        help="how long tuning may take (default for models: 150)")  # fmt: skip
    result.add_argument("--rounds", type=int, default=21, metavar="N")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    names = [*PROGRAMS, *MODELS] if options.only else [*PROGRAMS]
    chosen = [n for n in names if not options.only or any(part in n for part in options.only)]
    if not chosen:
        parser().error(f"no work has a name with {' or '.join(options.only)}")
    gains = []
    for name in chosen:
        measure = _model if name in MODELS else _program
        gains.append(measure(name, options))
        print(_row(gains[-1]), flush=True)
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(as_table(gains))


def _program(name: str, options: argparse.Namespace) -> Gain:
    func = PROGRAMS[name]()
    start, spent = time.monotonic(), _processor_seconds()
    database = ms.tune_tir(
        func, TARGET, None, options.trials or 64, database="memory", seed=1,
        max_seconds=options.seconds,
    )  # fmt: skip
    took = time.monotonic() - start, _processor_seconds() - spent
    found = database.query_schedule(func, TARGET)
    assert isinstance(found, Schedule)
    modules = [tvm.build(func, target=TARGET), tvm.build(found.mod, target=TARGET)]
    random = np.random.default_rng(0)
    buffers = func.buffer_map.values()
    arrays = [
        tvm.nd.array(random.random([int(n.value) for n in b.shape], "float32") - np.float32(0.5))  # type: ignore[attr-defined]
        for b in buffers
    ]
    runs: list[Callable[[], Any]] = [lambda m=module: m(*arrays) for module in modules]
    return _gain(name, runs, options.rounds, took, len(database))


def _model(name: str, options: argparse.Namespace) -> Gain:
    mod = MODELS[name]()
    start, spent = time.monotonic(), _processor_seconds()
    database = relax_integration.tune_relax(
        mod, None, TARGET, None, options.trials or 100_000, database="memory", seed=1,
        max_seconds=options.seconds or 150.0,
    )  # fmt: skip
    took = time.monotonic() - start, _processor_seconds() - spent
    built = [relax.build(mod, TARGET), relax_integration.compile_relax(database, mod, TARGET)]
    shape = [int(n.value) for n in mod["main"].params[0].struct_info.shape.values]
    x = tvm.nd.array(np.random.default_rng(0).standard_normal(shape).astype("float32"))
    functions = [relax.VirtualMachine(executable)["main"] for executable in built]
    results = [function(x).numpy() for function in functions]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-3, atol=1e-3)
    runs: list[Callable[[], Any]] = [lambda f=function: f(x) for function in functions]
    return _gain(name, runs, options.rounds, took, len(database))


def _processor_seconds() -> float:
    """Of this process and of those that it has started and that are gone."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _gain(
    name: str, runs: Sequence[Callable[[], Any]], rounds: int, took: tuple[float, float], count: int
) -> Gain:
    """Time the default and what was tuned, in turns."""
    counts = [max(1, round(TURN / max(_seconds(run, 1), 1e-7))) for run in runs]
    samples: list[list[float]] = [[], []]
    for position in range(rounds):
        order = (0, 1) if position % 2 else (1, 0)
        for n in order:
            samples[n].append(_seconds(runs[n], counts[n]))
    ratios = [a / b for a, b in zip(*samples, strict=True)]
    return Gain(name, *map(statistics.median, samples), sorted(ratios), *took, count)


def _seconds(run: Callable[[], Any], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count


def _row(gain: Gain) -> str:
    low, median, high = statistics.quantiles(gain.ratios, n=4)
    return (
        f"{gain.name:48} default {gain.default * 1e3:8.4f} ms  tuned {gain.tuned * 1e3:8.4f} ms  "
        f"ratio {median:.3f} ({low:.3f} to {high:.3f})  {gain.wall:.1f} s  {gain.records} records"
    )


def as_table(gains: Sequence[Gain]) -> Table:
    """The works in rows."""
    table = Table(title="what tuning gains, on one core", title_justify="left")
    for column in ("work", "default ms", "tuned ms", "ratio", "quartiles", "tuning s", "records"):
        table.add_column(column, justify="left" if column == "work" else "right")
    for gain in gains:
        low, median, high = statistics.quantiles(gain.ratios, n=4)
        table.add_row(
            gain.name, f"{gain.default * 1e3:.4f}", f"{gain.tuned * 1e3:.4f}", f"{median:.3f}",
            f"{low:.3f} to {high:.3f}", f"{gain.wall:.1f}", str(gain.records),
        )  # fmt: skip
    return table
