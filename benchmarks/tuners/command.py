"""Compare the tuners of AutoTVM on one template: how many trials until one is nearly the best.

All configs of a matrix product are measured once, on one core. Then each tuner runs with several
seeds, and what it measures is looked up in that table, so that all tuners see the same times, and
the best config is known. The table is kept in DIR.
"""

from __future__ import annotations

import argparse
import logging
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.harness.pairs import ROOT
from benchmarks.tuners import template
from benchmarks.tuners.recorded import recorded_option, times_of
from tilewright import autotvm
from tilewright.autotvm.callback import Monitor, log_to_file, progress_bar
from tilewright.autotvm.record import load_from_file
from tilewright.autotvm.tuner import (
    DropletTuner,
    GATuner,
    GridSearchTuner,
    RandomTuner,
    Tuner,
    XGBTuner,
)

RESULTS: Final = ROOT / "benchmarks" / "results" / "tuners"
NEAR: Final = 0.95
"""The part of the best speed that counts as nearly the best."""

TUNERS: Final[dict[str, Callable[..., Tuner]]] = {
    "RandomTuner": RandomTuner,
    "GridSearchTuner": GridSearchTuner,
    "GATuner, pop_size=20": lambda task, seed: GATuner(task, pop_size=20, seed=seed),
    "XGBTuner": XGBTuner,
    "XGBTuner, feature_type='knob'": lambda task, seed: XGBTuner(
        task, feature_type="knob", seed=seed
    ),
    "DropletTuner": DropletTuner,
    "DropletTuner from the first config": lambda task, seed: DropletTuner(
        task, [0] * len(task.config_space.dims), seed=seed
    ),
}


class Run(NamedTuple):
    """What came of a tuner with a seed.

    Attributes:
        trials: number of configs that it measured.
        needed: trials until one was nearly the best; infinite if none was.
        share: the speed of its best config over that of the best of all.
        seconds: how long it took, without measuring.
    """

    trials: int
    needed: float
    share: float
    seconds: float


def parser() -> argparse.ArgumentParser:
    """The options."""
    result = argparse.ArgumentParser(prog="python -m benchmarks tuners", description=__doc__)
    result.add_argument("--size", type=int, default=512, metavar="N", help="of the matrices")
    result.add_argument("--trials", type=int, default=128, metavar="N", help="of each run")
    result.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of each tuner")
    result.add_argument("--only", nargs="+", default=[], metavar="PART", help="parts of names")
    result.add_argument(
        "--output", type=Path, default=RESULTS, metavar="DIR",
        help=f"where the table is (default: {RESULTS})",
    )  # fmt: skip
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    chosen = [n for n in TUNERS if not options.only or any(part in n for part in options.only)]
    if not chosen:
        parser().error(f"no tuner has a name with {' or '.join(options.only)}")
    logging.getLogger("autotvm").setLevel(logging.ERROR)
    console = Console(width=None if sys.stdout.isatty() else 140)
    task = autotvm.task.create(template.NAME, [options.size], "llvm -num-cores=1")
    times = measured(task, options.output / f"matmul-{options.size}.log")
    speeds = [task.flop / statistics.mean(seconds) for seconds in times.values()]
    best, median = max(speeds), statistics.median(speeds)
    console.print(
        f"{len(task.config_space)} configs, {len(times)} of them different programs that ran; the "
        f"best is {best / median:.2f} times as fast as the median one"
    )
    found: dict[str, list[Run]] = {}
    for name in chosen:
        make = TUNERS[name]
        found[name] = [
            run(make(task, seed=seed), options.trials, times, best) for seed in range(options.seeds)
        ]
    console.print(as_table(found, options.trials))


def measured(task: Any, log: Path) -> dict[str, list[float]]:
    """The seconds of each program of a task; without the log, all of them are measured.

    They are measured in one run, whose times can be compared with each other.
    """
    if not log.exists():
        log.parent.mkdir(parents=True, exist_ok=True)
        unfinished = log.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        runner = autotvm.LocalRunner(number=1, repeat=3, min_repeat_ms=20, cooldown_interval=0)
        option = autotvm.measure_option(builder="local", runner=runner)
        count = len(task.config_space)
        callbacks = [log_to_file(unfinished), progress_bar(count, "measuring")]
        GridSearchTuner(task).tune(count, option, callbacks=callbacks)
        unfinished.rename(log)
    return times_of(load_from_file(log))


def run(tuner: Tuner, trials: int, times: dict[str, list[float]], best: float) -> Run:
    """Let a tuner look for the best config."""
    monitor = Monitor()
    start = time.monotonic()
    tuner.tune(trials, recorded_option(times), callbacks=[monitor])
    seconds = time.monotonic() - start
    speeds = monitor.trial_scores()
    needed = next((n for n, speed in enumerate(speeds, 1) if speed >= NEAR * best), math.inf)
    return Run(len(speeds), needed, max(speeds) / best, seconds)


def as_table(found: dict[str, list[Run]], trials: int) -> Table:
    """The tuners in rows; medians of the runs."""
    title = f"trials until a config has {NEAR:.0%} of the best speed, of {trials} at most"
    table = Table(title=title, title_justify="left")
    for column in ("tuner", "trials needed", "runs that got there", "share of the best",
                   "trials in all", "seconds"):  # fmt: skip
        table.add_column(column, justify="left" if column == "tuner" else "right")
    for name, runs in found.items():
        needed = sorted(item.needed for item in runs)
        median = statistics.median_low(needed)
        table.add_row(
            name,
            f"{_count(median)} ({_count(needed[0])} to {_count(needed[-1])})",
            f"{sum(map(math.isfinite, needed))} of {len(runs)}",
            f"{statistics.median(item.share for item in runs):.3f}",
            f"{statistics.median(item.trials for item in runs):.0f}",
            f"{statistics.median(item.seconds for item in runs):.1f}",
        )
    return table


def _count(trials: float) -> str:
    return f"{trials:.0f}" if math.isfinite(trials) else "never"
