"""Tunes the program of one work: `python -m benchmarks.tuner.tune_ours WORK TRIALS FOLDER`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.harness.registry import entries
from benchmarks.tuner.places import note
from tilewright import meta_schedule as ms


def main() -> None:
    name, trials, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    work = next(entry.work for entry in entries() if entry.work.name == name)
    start = time.perf_counter()
    database = ms.tune_tir(
        mod=work.program(),
        target="llvm -num-cores=1",
        max_trials_global=trials,
        num_trials_per_iter=min(trials, 64),
        work_dir=str(folder),
    )
    seconds = time.perf_counter() - start
    note(folder, seconds=seconds, trials=trials, records=len(database))


if __name__ == "__main__":
    main()
