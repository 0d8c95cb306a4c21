"""Measured candidates as what a model learns from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

FAILED: Final = 4.0
"""By how much the logarithm of the time of a candidate that fails is above the slowest one."""


class Workload:
    """The measurements of one program.

    Attributes:
        rows: for each measured candidate, its features: an array with a row for each store.
        seconds: its time; infinite if it failed.
        expected: the logarithm of the cycles that the analytical model expects.
    """

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self.seconds: list[float] = []
        self.expected: list[float] = []

    def add(
        self, rows: Sequence[np.ndarray], seconds: Sequence[float], expected: Sequence[float]
    ) -> None:
        """Add candidates."""
        self.rows += rows
        self.seconds += seconds
        self.expected += expected

    @property
    def speeds(self) -> np.ndarray:
        """Logarithms of speed, of the fastest candidate 0."""
        times = np.array(self.seconds)
        failed = ~np.isfinite(times)
        if failed.all():
            return np.zeros(len(times))
        logarithms = np.log(np.where(failed, 1.0, np.maximum(times, 1e-12)))
        best = logarithms[~failed].min()
        logarithms[failed] = logarithms[~failed].max() + FAILED
        return best - logarithms


class Samples:
    """All measurements, by program.

    Attributes:
        workloads: by a name of the program that is the same in every run.
    """

    def __init__(self) -> None:
        self.workloads: dict[str, Workload] = {}

    def __len__(self) -> int:
        return sum(len(workload.rows) for workload in self.workloads.values())

    def workload(self, key: str) -> Workload:
        """The measurements of a program, to add to."""
        return self.workloads.setdefault(key, Workload())

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as arrays of numbers and texts."""
        keys, counts, lengths, tables, seconds, expected = [], [], [], [], [], []
        for key, workload in self.workloads.items():
            keys.append(key)
            counts.append(len(workload.rows))
            lengths += [len(table) for table in workload.rows]
            tables += workload.rows
            seconds += workload.seconds
            expected += workload.expected
        return {
            "workloads": np.array(keys, dtype=np.str_),
            "candidates": np.array(counts, dtype=np.int64),
            "stores": np.array(lengths, dtype=np.int64),
            "features": np.concatenate(tables) if tables else np.zeros((0, 0)),
            "seconds": np.array(seconds, dtype=np.float64),
            "expected": np.array(expected, dtype=np.float64),
        }

    @staticmethod
    def of_arrays(arrays: Mapping[str, Any]) -> Samples:
        """What `arrays` describes."""
        samples = Samples()
        tables = np.split(arrays["features"], np.cumsum(arrays["stores"])[:-1])
        start = 0
        for key, count in zip(arrays["workloads"], arrays["candidates"], strict=True):
            end = start + int(count)
            samples.workload(str(key)).add(
                list(tables[start:end]),
                [float(value) for value in arrays["seconds"][start:end]],
                [float(value) for value in arrays["expected"][start:end]],
            )
            start = end
        return samples
