"""`Tuner`: a task, and how its configs are searched."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tilewright.autotvm.callback import Callback, FinalsCallback, progress_bar, unit_factor
from tilewright.autotvm.conversion import from_tuning_record, to_tuning_record
from tilewright.autotvm.measure import MeasureErrorNo, MeasureInput, MeasureResult
from tilewright.autotvm.record import Pair, load_from_file
from tilewright.autotvm.task.space import ConfigEntity
from tilewright.autotvm.task.task import Task
from tilewright.autotvm.template_space import TemplateSpace
from tilewright.autotvm.tuner.batches import Batches
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    TuningError,
    TVMError,
    require_at_least,
)
from tilewright.tune.callback import default_callbacks
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import MemoryDatabase, TuningRecord
from tilewright.tune.database.selection import same_machine_code
from tilewright.tune.measure import LocalRunner
from tilewright.tune.options import TuneOptions
from tilewright.tune.search import SearchStrategy
from tilewright.tune.tuning import require_measurable, run_tasks

logger: Final = logging.getLogger("autotvm")


class Tuner:
    """Base class of tuners. Subclasses define `make_strategy` and, if there is one, a cost model.

    Measuring, records, stopping and progress are those of `tilewright.tune.tuning.tune_tasks`.
    What was measured stays known: a second call of `tune` goes on.

    Args:
        task: what `autotvm.task.create` returned.
        seed: of the random choices; by default another one every time.

    Attributes:
        task: as above.
        best_config: the fastest config; None before one ran.
        best_flops: its operations per second; 0 before one ran.
        best_measure_pair: the config and what came of it.
        best_iter: the trial in which it was measured, from 1 on; 0 before, and for a config of
            `load_history`.
        batch_size: maximum number of configs that are measured at a time.
    """

    batch_size = 16

    def __init__(self, task: Task, *, seed: int | None = None) -> None:
        if not isinstance(task, Task):
            raise ArgumentError(
                f"{type(self).__name__}: expected what autotvm.task.create returns, got {task!r}"
            )
        self.task = task
        self.seed = seed
        self._error_threshold = 150
        self.reset()

    # --- for subclasses -------------------------------------------------------------------------

    def make_strategy(self) -> SearchStrategy:
        """What chooses configs, for one call of `tune`."""
        raise NotImplementedError(f"{type(self).__name__} does not define make_strategy")

    def make_cost_model(self) -> CostModel | None:
        """What the strategy asks; None for nothing."""
        return None

    # --- tuning ---------------------------------------------------------------------------------

    def tune(
        self,
        n_trial: int | None = None,
        measure_option: Mapping[str, Any] | None = None,
        early_stopping: int | None = None,
        callbacks: Sequence[Callback] = (),
        si_prefix: str = "G",
    ) -> None:
        """Measure configs.

        Args:
            n_trial: maximum number of configs; those that fail count.
            measure_option: what `autotvm.measure_option` returned.
            early_stopping: number of trials without a gain after which it ends; None for no limit.
            callbacks: called after each batch, such as `autotvm.callback.log_to_file`.
            si_prefix: of the unit in the log, such as ``"G"`` for GFLOPS.

        Raises:
            TuningError: if not a single config ran; it says why.
            TargetError: for a target whose code does not run here.
        """
        options = self._options(n_trial, measure_option, early_stopping)
        callbacks = list(callbacks)
        self._unit, self._prefix = unit_factor(si_prefix), si_prefix

        def take(
            inputs: Sequence[MeasureInput], results: Sequence[MeasureResult], supersedes: bool
        ) -> None:
            if not supersedes:
                self._count(inputs, results)
            for callback in callbacks:
                if isinstance(callback, FinalsCallback):
                    callback.keep(inputs, results, supersedes=supersedes)
                elif not supersedes:
                    callback(self, inputs, results)

        options = TuneOptions(
            **options,
            num_trials_per_iter=self.batch_size,
            database=self._database,
            cost_model=self.make_cost_model() or "none",
            measure_callbacks=[*default_callbacks(), Batches(self.task, take)],
            progress=not any(isinstance(callback, progress_bar) for callback in callbacks),
        )
        try:
            run_tasks([self._context()], [1.0], None, options)
        finally:
            self._note_best()
            for callback in callbacks:
                if isinstance(callback, progress_bar):
                    callback.finish()

    def _context(self) -> TuneContext:
        return TuneContext(
            self.task.mod,
            target=self.task.target,
            space_generator=TemplateSpace(self.task),
            search_strategy=self.make_strategy(),
            task_name=self.task.name,
            rand_state=-1 if self.seed is None else self.seed,
        )

    def _options(
        self, n_trial: Any, measure_option: Any, early_stopping: int | None
    ) -> dict[str, Any]:
        """What the caller chose, as options of the tuner."""
        name = f"{type(self).__name__}.tune(n_trial, measure_option)"
        if isinstance(n_trial, bool) or not isinstance(n_trial, int):
            raise ArgumentError(
                f"{name}: n_trial is the number of configs to measure, such as "
                f"min(1000, len(task.config_space)); got {n_trial!r}"
            )
        require_at_least(f"{name}: n_trial", n_trial, 1)
        given = set(measure_option) if isinstance(measure_option, Mapping) else set()
        if not {"builder", "runner"} <= given:
            raise ArgumentError(
                f"{name}: measure_option is what autotvm.measure_option(builder='local', "
                f"runner='local') returns, got {measure_option!r}"
            )
        if early_stopping is not None and early_stopping < 1:
            raise ArgumentValueError(
                f"{name}: early_stopping is at least 1, or None; got {early_stopping}"
            )
        if isinstance(measure_option["runner"], LocalRunner):
            require_measurable(self.task.target)
        return {
            "max_trials_global": n_trial,
            "patience": early_stopping,
            "builder": measure_option["builder"],
            "runner": measure_option["runner"],
        }

    def _count(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Note a batch."""
        for measured, result in zip(inputs, results, strict=True):
            self._trials += 1
            self._iterations[measured.config.index] = self._trials
            flops = self.task.flop / result.mean
            if flops > self.best_flops:
                self._set_best(measured, result)
            logger.debug(
                "No: %d\t%sFLOPS: %.2f/%.2f\tresult: %s\t%s", self._trials, self._prefix,
                flops / self._unit, self.best_flops / self._unit, result, measured.config,
            )  # fmt: skip
            self._count_error(result)

    def _count_error(self, result: MeasureResult) -> None:
        self._errors = self._errors + 1 if result.error_no else 0
        if self._errors == self._error_threshold:
            logger.warning(
                "%d configs of %r in a row failed, the last one by %s: %s", self._errors,
                self.task.name, MeasureErrorNo(result.error_no).name, *result.costs[:1],
            )  # fmt: skip

    def _note_best(self) -> None:
        """Take over what won in the end, when the fastest configs were measured again."""
        record = self._database.query_tuning_record(self.task.mod, self.task.target)
        if record is not None:
            self._set_best(*from_tuning_record(record))

    def _set_best(self, measured: MeasureInput, result: MeasureResult) -> None:
        self.best_config: ConfigEntity | None = measured.config
        self.best_flops = self.task.flop / result.mean
        self.best_measure_pair: Pair | None = (measured, result)
        self.best_iter = self._iterations.get(measured.config.index, 0)

    # --- state ----------------------------------------------------------------------------------

    def get_best_config(self) -> ConfigEntity:
        """The fastest config.

        Raises:
            TuningError: if none ran so far.
        """
        if self.best_config is None:
            raise TuningError(
                f"no config of {self.task.name!r} was measured; call "
                f"{type(self).__name__}.tune(n_trial, measure_option) first"
            )
        return self.best_config

    def has_next(self) -> bool:
        """Whether there are configs that were not measured."""
        known = {record.candidate_key for record in self._database.get_all_tuning_records()}
        return len(known) < len(self.task.config_space)

    def load_history(self, data_set: str | Iterable[Pair], min_seed_records: int = 1) -> None:
        """Let records of earlier runs on this machine be known.

        Their configs are not measured again, the search goes on from the fastest of them, and a
        cost model learns from all. Records of other tasks or targets are left out, and so are
        those that do not fit the template any more.

        Args:
            data_set: the name of a file of records, or pairs of a config and what came of it.
            min_seed_records: if there are fewer records that can be used, none of them is.
        """
        pairs = load_from_file(data_set) if isinstance(data_set, (str, os.PathLike)) else data_set
        records: list[TuningRecord] = []
        count = 0
        for measured, result in pairs:
            count += 1
            if measured.task.workload != self.task.workload:
                continue
            try:
                record = to_tuning_record(measured._replace(task=self.task), result)
            except TVMError as error:
                logger.warning("a record of %r is left out: %s", self.task.name, error)
                continue
            if same_machine_code(record, self.task.target):
                records.append(record)
        if len(records) < min_seed_records:
            logger.warning(
                "%d of %d records are of the task %r; none is used, as %d are needed",
                len(records), count, self.task.name, min_seed_records,
            )  # fmt: skip
            return
        self._database.commit_tuning_records(records)
        logger.info("%d of %d records are of the task %r", len(records), count, self.task.name)
        self._note_best()

    def reset(self) -> None:
        """Forget everything that was measured."""
        self._database = MemoryDatabase()
        self._trials = self._errors = 0
        self._iterations: dict[int | None, int] = {}
        self._unit, self._prefix = unit_factor("G"), "G"
        self.best_config = None
        self.best_flops = 0.0
        self.best_measure_pair = None
        self.best_iter = 0

    def set_error_threshold(self, threshold: int) -> None:
        """Say how many configs may fail in a row before a warning is logged.

        Args:
            threshold: their number; by default 150.
        """
        self._error_threshold = threshold
