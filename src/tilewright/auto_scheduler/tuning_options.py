"""`TuningOptions`: how much is measured, and how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.target import Target
from tilewright.tune.callback import MeasureCallback, default_callbacks
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.measure import Builder, LocalRunner, Runner
from tilewright.tune.measure.old_arguments import require_parts
from tilewright.tune.options import TuneOptions
from tilewright.tune.tuning import require_measurable


class TuningOptions:
    """How much is measured, and how.

    Args:
        num_measure_trials: maximum number of measured candidates.
        early_stopping: number of trials without a gain after which the search ends; None for no
            limit.
        num_measures_per_round: maximum number of candidates per batch.
        verbose: 0 for no table of the state of the search; in other places than terminals and
            notebooks there is none anyway.
        builder: compiles candidates: a `LocalBuilder`, any `Builder` of the tuner, or the name of
            one, such as ``"local"``.
        runner: times candidates: a `LocalRunner`, the `runner` of a `LocalRPCMeasureContext`, any
            `Runner` of the tuner, or the name of one.
        measure_callbacks: called after each batch, such as `RecordToFile`.

    Raises:
        ArgumentError: for something else.
        ArgumentValueError: for a number out of range.
    """

    def __init__(
        self,
        num_measure_trials: int = 0,
        early_stopping: int | None = None,
        num_measures_per_round: int = 64,
        verbose: int = 1,
        builder: Builder | str = "local",
        runner: Runner | str = "local",
        measure_callbacks: Sequence[MeasureCallback] | None = None,
    ) -> None:
        if num_measure_trials < 0:
            raise ArgumentValueError(
                f"TuningOptions: num_measure_trials is not negative, got {num_measure_trials}"
            )
        require_parts("TuningOptions", builder, runner)
        self.num_measure_trials = num_measure_trials
        self.early_stopping = None if early_stopping in (None, -1) else early_stopping
        self.num_measures_per_round = num_measures_per_round
        self.verbose = verbose
        self.builder, self.runner = builder, runner
        self.measure_callbacks = MeasureCallback.create(measure_callbacks or [])

    def check_target(self, target: Target) -> None:
        """Refuse a target whose code does not run where it would be measured.

        Raises:
            TargetError: if this is one.
        """
        if self.runner == "local" or isinstance(self.runner, LocalRunner):
            require_measurable(target)

    def for_tuner(
        self, cost_model: CostModel | None, database: Database, targets: Iterable[Target]
    ) -> TuneOptions:
        """The options as the tuner takes them.

        Args:
            cost_model: chooses the candidates to measure.
            database: what was measured before, and gets what is measured.
            targets: those of the tasks.

        Raises:
            ArgumentValueError: if there are no trials.
            TargetError: for a target whose code does not run where it would be measured.
        """
        if not self.num_measure_trials:
            raise ArgumentValueError(
                "TuningOptions: num_measure_trials is 0, so nothing would be measured; 64 are "
                "enough for an operator. Without measuring, tvm.build gives the default schedule"
            )
        for target in targets:
            self.check_target(target)
        given: dict[str, Any] = {"builder": self.builder, "runner": self.runner}
        return TuneOptions(
            max_trials_global=self.num_measure_trials,
            num_trials_per_iter=self.num_measures_per_round,
            patience=self.early_stopping,
            cost_model="none" if cost_model is None else cost_model,
            database=database,
            measure_callbacks=[*default_callbacks(), *self.measure_callbacks],
            progress=self.verbose > 0,
            **given,
        )
