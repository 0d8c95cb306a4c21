"""A cost model that starts from the analytical one and learns what that gets wrong."""

from __future__ import annotations

import logging
import math
import zipfile
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentValueError
from tilewright.ir.structural import structural_hash
from tilewright.tune.cost_model.analytical import AnalyticalModel
from tilewright.tune.cost_model.boosted_trees import ROUNDS, Trees, XGBConfig, load_xgboost
from tilewright.tune.cost_model.cost_model import CostModel
from tilewright.tune.cost_model.training import Samples, TrainingLog
from tilewright.tune.feature import FeatureExtractor

LEAST_SAMPLES: Final = 8
"""Fewer measurements than that say nothing about others."""

LEAST_NEWS: Final = 4
"""Minimum number of new measurements for which learning anew is worth its time."""

DOUBT: Final = 32.0
"""After how many measurements what is learned counts half."""

FOLDS: Final = 4
"""Into how many parts measurements are divided to see what is learned from the others about one."""

FEW: Final = XGBConfig(max_depth=4, min_child_weight=0.5, eta=0.1)
"""How trees are grown from few measurements: small ones, and not many."""

FEW_ROUNDS: Final = 50

RETRAIN: Final = 0.2
"""The part by which measurements have grown when everything is learned anew."""


class XGBModel(CostModel, kind="xgb"):
    """What the analytical model expects, corrected by trees that learn from measurements.

    Without measurements it ranks as the analytical model does. Trees learn the logarithm of the
    ratio between measured and expected speed. Their corrections are weighted by how well they
    predicted measurements that they had not seen, and by the number of these.

    Args:
        extractor: of the features: a `FeatureExtractor` or its name.
        config: how trees are grown, an `XGBConfig`; by default as the number of samples allows.
        num_warmup_samples: from how many measurements on trees grow until they stop getting better.
        early_stopping_rounds: trees without an improvement after which growing stops.
        verbose_eval: after how many trees a line is logged; 0 for none.
        average_peak_n: how many of the candidates predicted best the logged ``a-peak`` looks at.
        adaptive_training: do not learn anew from every measurement, the less often the more there
            are.
        num_tuning_cores: threads that training may use; by default 1.
    """

    def __init__(
        self,
        *,
        extractor: FeatureExtractor | str = "per-store-feature",
        config: XGBConfig | None = None,
        num_warmup_samples: int = 100,
        early_stopping_rounds: int = 50,
        verbose_eval: int = 25,
        average_peak_n: int = 32,
        adaptive_training: bool = True,
        num_tuning_cores: int | None = None,
    ) -> None:
        if isinstance(extractor, str):
            extractor = FeatureExtractor.create(extractor)
        self.extractor = extractor
        self.config = config
        self.num_warmup_samples = num_warmup_samples
        self.early_stopping_rounds = early_stopping_rounds
        self.verbose_eval = verbose_eval
        self.average_peak_n = average_peak_n
        self.adaptive_training = adaptive_training
        self.samples = Samples()
        self.confidence = 0.0
        """How much the trees count: between 0, not at all, and 1."""
        self._analytical = AnalyticalModel()
        self._threads = num_tuning_cores or 1
        self._trees: Trees | None = None
        self._xgboost: Any = None
        self._trained_on = 0
        self._names: dict[int, tuple[Any, str]] = {}

    # --- using ------------------------------------------------------------------------------

    def predict(self, context: Any, candidates: Sequence[Any]) -> np.ndarray:
        expected = self._analytical.predict(context, candidates)
        if self._trees is None or self.confidence <= 0 or not len(candidates):
            return expected
        rows = self.extractor.extract_from(context, candidates)
        return expected + self.confidence * self._trees.predict(rows)

    # --- learning ---------------------------------------------------------------------------

    def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        measured = [
            (candidate, _seconds(result))
            for candidate, result in zip(candidates, results, strict=True)
            if getattr(result, "error_kind", None) != "cancelled"
        ]
        if not measured:
            return
        known = [candidate for candidate, _ in measured]
        rows = self.extractor.extract_from(context, known)
        expected = -self._analytical.predict(context, known)
        workload = self.samples.workload(self._name_of(context))
        workload.add(rows, [seconds for _, seconds in measured], [float(e) for e in expected])
        if self._is_due():
            self._learn(getattr(context, "logger", None) or logging.getLogger(__name__))

    def _name_of(self, context: Any) -> str:
        """A name of the program of a task that is the same in every run."""
        module = getattr(context, "mod", None)
        found = self._names.get(id(module))
        if found is None:
            name = "" if module is None else f"{structural_hash(module):016x}"
            found = self._names[id(module)] = (module, name)
        return found[1]

    def _is_due(self) -> bool:
        count = len(self.samples)
        if count < LEAST_SAMPLES:
            return False
        if not self.adaptive_training:
            return True
        few = count < self.num_warmup_samples
        return count - self._trained_on >= (LEAST_NEWS if few else RETRAIN * self._trained_on)

    def _learn(self, logger: logging.Logger) -> None:
        if self._xgboost is None:
            self._xgboost = load_xgboost()
            if self._xgboost is None:
                self._xgboost = False
        if not self._xgboost:
            return
        rows, errors, weights, expected, speeds = self._lessons()
        self._trained_on = len(rows)
        held_out = np.zeros(len(rows))
        folds = np.random.default_rng(0).permutation(len(rows)) % FOLDS
        few = self.config or FEW
        for fold in range(FOLDS):
            others, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            trees = Trees(self._xgboost, few, self._threads)
            trees.grow([rows[i] for i in others], errors[others], weights[others], FEW_ROUNDS)
            held_out[own] = trees.predict([rows[i] for i in own])
        self.confidence = _confidence(held_out, errors, weights)
        log = TrainingLog(
            logger, expected, speeds, self.average_peak_n, self.verbose_eval,
            self.early_stopping_rounds,
        )  # fmt: skip
        many = len(rows) >= self.num_warmup_samples
        trees = Trees(self._xgboost, (self.config or XGBConfig()) if many else few, self._threads)
        trees.grow(rows, errors, weights, ROUNDS if many else FEW_ROUNDS, log.after_round)
        log.finish()
        self._trees = trees

    def _lessons(self) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The features of all measured candidates; by how much the analytical model errs, apart
        from what it errs about all candidates of a program; how much each of them counts; and the
        expected and the measured logarithms of speed."""
        rows: list[np.ndarray] = []
        errors, weights, expected, speeds = [], [], [], []
        for workload in self.samples.workloads.values():
            measured = workload.speeds
            hoped = -np.array(workload.expected)
            error = measured - hoped
            # Which of the fast ones is faster matters; that the slow ones are slow is enough.
            weight = np.sqrt(np.exp(measured)) + 0.05
            centre = float(np.average(error, weights=weight))
            rows += workload.rows
            errors.append(error - centre)
            weights.append(weight)
            expected.append(hoped + centre)
            speeds.append(measured)
        joined = [np.concatenate(parts) for parts in (errors, weights, expected, speeds)]
        return rows, joined[0], joined[1], joined[2], joined[3]

    # --- files ------------------------------------------------------------------------------

    def save(self, path: str) -> None:
        """Write the measurements and the trees to `path`, as arrays (``.npz``)."""
        arrays = self.samples.arrays()
        trees = b"" if self._trees is None else self._trees.dump()
        arrays["trees"] = np.frombuffer(trees, dtype=np.uint8)
        arrays["confidence"] = np.array(self.confidence)
        with open(path, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    def load(self, path: str) -> None:
        """Take over the measurements and the trees that `save` wrote to `path`.

        Raises:
            ArgumentValueError: for another file.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            samples = Samples.of_arrays(arrays)
            trees, confidence = arrays["trees"].tobytes(), float(arrays["confidence"])
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ArgumentValueError(f"{path} was not written by XGBModel.save: {error}") from None
        self.samples, self._trained_on = samples, len(samples)
        self._trees, self.confidence = None, 0.0
        if trees:
            self._xgboost = self._xgboost or load_xgboost()
        if trees and self._xgboost:
            self._trees = Trees(self._xgboost, self.config or FEW, self._threads)
            self._trees.load(trees)
            self.confidence = confidence


def _seconds(result: Any) -> float:
    """The run time of a result, infinite if there is none."""
    if not result.run_secs:
        return math.inf
    return float(sum(map(float, result.run_secs)) / len(result.run_secs))


def _confidence(predicted: np.ndarray, errors: np.ndarray, weights: np.ndarray) -> float:
    """With which factor predictions about what was not learned from come nearest."""
    power = float(np.sum(weights * predicted * predicted))
    if power <= 0:
        return 0.0
    best = float(np.sum(weights * predicted * errors)) / power
    return min(max(best, 0.0), len(predicted) / (len(predicted) + DOUBT))
