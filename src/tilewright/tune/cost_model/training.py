"""What boosted trees learn from, and what is logged while they do."""

from __future__ import annotations

import logging
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


class TrainingLog:
    """Watches how well trees fit, and tells when they stop getting better.

    Args:
        logger: gets the lines.
        expected: the logarithms of speed that are predicted without trees.
        speeds: those that were measured; of the fastest candidate 0.
        peak: how many of the candidates predicted best ``a-peak`` looks at.
        every: after how many rounds a line is logged; 0 for none.
        patience: rounds without an improvement after which to stop.
    """

    def __init__(
        self,
        logger: logging.Logger,
        expected: np.ndarray,
        speeds: np.ndarray,
        peak: int,
        every: int,
        patience: int,
    ) -> None:
        self._logger, self._expected, self._speeds = logger, expected, speeds
        self._peak, self._every, self._patience = peak, every, patience
        self._best = (float("inf"), 0, "")

    def after_round(self, number: int, sums: np.ndarray) -> bool:
        """Log a round; whether to stop.

        Args:
            number: of the round.
            sums: what the trees say about each candidate.
        """
        predicted = self._expected + sums
        speeds = np.exp(self._speeds)
        rmse = _root_mean_square(np.exp(np.minimum(predicted, 1.0)) - speeds)
        peak = average_peak(predicted, speeds, self._peak)
        logarithmic = _root_mean_square(predicted - self._speeds)
        values = (
            ("tr-p-rmse", rmse), (f"tr-a-peak@{self._peak}", peak), ("tr-rmse", logarithmic),
        )  # fmt: skip
        if self._every and number % self._every == 0:
            text = "\t".join(f"{name}: {value:.6f}" for name, value in values)
            self._logger.debug("XGB iter %3d: %s", number, text)
        if logarithmic < self._best[0] - 1e-6:
            text = "\t".join(f"{name}:{value:.5f}" for name, value in values)
            self._best = (logarithmic, number, text)
        return number - self._best[1] >= self._patience

    def finish(self) -> None:
        """Log the best round."""
        if self._every:
            self._logger.debug("XGB stopped. Best iteration: [%d] %s", *self._best[1:])


def average_peak(predicted: np.ndarray, speeds: np.ndarray, count: int) -> float:
    """How fast the best of the first few candidates is, in the predicted order, against the best
    of all; on average over 1 to `count` of them."""
    ordered = speeds[np.argsort(-predicted, kind="stable")][:count]
    return float(np.mean(np.maximum.accumulate(ordered)) / np.max(speeds))


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values * values)))
