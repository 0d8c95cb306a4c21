"""What is logged while a model learns."""

from __future__ import annotations

import logging

import numpy as np


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
