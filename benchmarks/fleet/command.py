"""How much faster a fleet tunes, and what a measurement on a fleet costs more.

python -m benchmarks fleet                 simulated fleets of 1 to 256 machines
python -m benchmarks fleet --trials 512    the same, for fewer candidates
python -m benchmarks fleet --ray           a cluster of Ray on this machine, beside no cluster
"""

from __future__ import annotations

import argparse
import logging
import math
from dataclasses import replace

from benchmarks.fleet.tuning import Conditions, simulate

SIZES = (1, 4, 16, 64, 256)

AS_IT_IS = Conditions()

SCENARIOS = {
    "search takes no time": {"search": 0.0},
    "as it is: a search takes 1 s": {},
    "batches of 8 candidates": {"batch": 8},
    "one task, batches of 64": {"tasks": 1},
    "one task, batches of 512": {"tasks": 1, "batch": 512},
    "2 % stragglers (10 times as long)": {"search": 0.0, "stragglers": 0.02},
    "2 % kill their machine, 0.5 % hang": {"search": 0.0, "deaths": 0.02, "hangs": 0.005},
    "100 ms latency": {"search": 0.0, "latency": 0.1},
    "100 ms latency, none wait at runners": {"search": 0.0, "latency": 0.1, "ahead": 0},
}
"""What differs from `AS_IT_IS`."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks fleet",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=AS_IT_IS.trials)
    parser.add_argument("--only", default="", help="scenarios whose names have this in them")
    parser.add_argument("--ray", action="store_true", help="what Ray costs on this machine")
    options = parser.parse_args(arguments)
    if options.ray:
        from benchmarks.fleet.overhead import measure

        measure()
        return
    logging.getLogger("tilewright").setLevel(logging.ERROR)  # machines die on purpose
    c = AS_IT_IS
    print(
        f"{options.trials} candidates of {c.tasks} tasks. Building takes {c.build} s and measuring "
        f"{c.run} s each,\nwith a standard deviation of {100 * c.spread:.0f} %; each machine runs "
        f"one and builds {c.processes} at the same time."
    )
    print("Seconds on one machine, and how many times faster more machines are:\n")
    print(f"{'':38}{SIZES[0]:>8}" + "".join(f"{size:>8}" for size in SIZES[1:]))
    for name, changes in SCENARIOS.items():
        if options.only in name:
            print(f"{name:<38}{_row(options.trials, changes)}", flush=True)


def _row(trials: int, changes: dict[str, float]) -> str:
    base, cells = math.nan, []
    for size in SIZES:
        conditions = replace(AS_IT_IS, workers=size, trials=trials, **changes)  # type: ignore[arg-type]
        seconds = simulate(conditions).seconds
        base = seconds if size == SIZES[0] else base
        cells.append(f"{seconds:>8.0f}" if size == SIZES[0] else f"{base / seconds:>8.1f}")
    return "".join(cells)
