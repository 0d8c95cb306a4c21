"""Gradient boosted trees that predict sums over the stores of a program.

Only whole programs are measured. A tree predicts a number for each row, a store; what is compared
with the measurement is the sum of the rows of a program (Chen et al., Learning to Optimize Tensor
Programs, 2018; Zheng et al., Ansor, 2020).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

ROUNDS: Final = 10000
"""More trees are never grown: stopping early ends it."""


class XGBConfig(NamedTuple):
    """How trees are grown; the names are those of xgboost.

    Attributes:
        max_depth: maximum number of questions on the way to a leaf.
        gamma: what a question has to gain.
        min_child_weight: the least weight of what is left on each side of it.
        eta: which part of the error a tree takes away.
        seed: of random choices.
        nthread: threads; by default as many as the tuner may use.
    """

    max_depth: int = 10
    gamma: float = 0.001
    min_child_weight: float = 0
    eta: float = 0.2
    seed: int = 43
    nthread: int | None = None


def load_xgboost() -> Any:
    """The package xgboost; None, with a warning, where it is not installed."""
    try:
        return importlib.import_module("xgboost")
    except ImportError:
        warnings.warn(
            "xgboost is not installed, so the cost model learns nothing from measurements and the "
            'analytical model is used instead; install it with: pip install "tilewright[tune]"',
            RuntimeWarning,
            stacklevel=2,
        )
        return None


class Packed(NamedTuple):
    """Programs as one table.

    Attributes:
        table: the rows of all programs.
        owner: for each row, the number of its program.
        lengths: how many rows each program has.
    """

    table: np.ndarray
    owner: np.ndarray
    lengths: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of the values of the rows of each program."""
        return np.bincount(self.owner, values, minlength=len(self.lengths))


def pack(rows: Sequence[np.ndarray]) -> Packed:
    """The programs with these rows."""
    lengths = np.array([len(table) for table in rows], dtype=np.int64)
    return Packed(np.concatenate(rows), np.repeat(np.arange(len(rows)), lengths), lengths)


class Trees:
    """Trees that were grown, or will be.

    Args:
        xgboost: the package.
        config: how they are grown.
        threads: on how many threads.
    """

    def __init__(self, xgboost: Any, config: XGBConfig, threads: int) -> None:
        self._xgboost = xgboost
        self._config, self._threads = config, threads
        self.booster: Any = None

    def grow(
        self,
        rows: Sequence[np.ndarray],
        targets: np.ndarray,
        weights: np.ndarray,
        rounds: int,
        after_round: Callable[[int, np.ndarray], bool] | None = None,
        config: XGBConfig | None = None,
    ) -> None:
        """Grow trees whose sums over the rows of programs come near `targets`.

        Args:
            rows: the features of the stores of each program.
            targets: what the sums should be.
            weights: how much the error of each program counts.
            rounds: how many trees.
            after_round: gets the number of each round and the sums so far, and tells to stop.
            config: how to grow them, if not as the constructor was told.
        """
        packed = pack(rows)
        data = self._xgboost.DMatrix(packed.table)
        config = config or self._config
        parameters = {
            "max_depth": config.max_depth,
            "gamma": config.gamma,
            "min_child_weight": config.min_child_weight,
            "eta": config.eta,
            "seed": config.seed,
            "nthread": config.nthread or self._threads,
            "base_score": 0.0,
            "verbosity": 0,
            "disable_default_eval_metric": 1,
            "tree_method": "hist",
        }
        # All rows of a program follow the same error: together they make the step of one.
        curvature = (weights * packed.lengths)[packed.owner]

        def objective(predicted: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
            error = (packed.sums(predicted) - targets) * weights
            return error[packed.owner], curvature

        booster = self._xgboost.Booster(parameters, [data])
        for number in range(rounds):
            booster.update(data, number, fobj=objective)
            if after_round is not None:
                sums = packed.sums(booster.predict(data, output_margin=True))
                if after_round(number, sums):
                    break
        self.booster = booster

    def predict(self, rows: Sequence[np.ndarray], rounds: int = 0) -> np.ndarray:
        """The sums over the rows of each program, of the first `rounds` trees or of all."""
        if not rows:
            return np.zeros(0)
        packed = pack(rows)
        predicted = self.booster.inplace_predict(
            packed.table, iteration_range=(0, rounds), predict_type="margin"
        )
        return packed.sums(predicted)

    def dump(self) -> bytes:
        """The trees as JSON."""
        return bytes(self.booster.save_raw("json"))

    def load(self, dumped: bytes) -> None:
        """Take over what `dump` returned."""
        self.booster = self._xgboost.Booster({"nthread": self._threads})
        self.booster.load_model(bytearray(dumped))
