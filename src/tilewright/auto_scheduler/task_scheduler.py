"""Many tasks at once: which of them gets the next trials."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.auto_scheduler.cost_model import RandomModel, XGBModel
from tilewright.auto_scheduler.search_callback import PreloadMeasuredStates
from tilewright.auto_scheduler.search_policy import SearchPolicy, SketchPolicy
from tilewright.auto_scheduler.search_task import SearchTask
from tilewright.auto_scheduler.tuning_options import TuningOptions
from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.progress.log import TuningObserver, statistics_table
from tilewright.tune.scheduler import GradientBased, RoundRobin, TaskRecord
from tilewright.tune.scheduler import TaskScheduler as TunerScheduler
from tilewright.tune.tuning import run_tasks


class TaskSchedulerCallback:
    """Told about the batches of a `TaskScheduler`; subclasses define what they want to know."""

    def pre_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """A task gets the next batch."""

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """The batch of a task was measured."""


class PrintTableInfo(TaskSchedulerCallback):
    """Prints the table of the tasks after each batch."""

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Print the table."""
        print(statistics_table(task_scheduler.records))


class LogEstimatedLatency(TaskSchedulerCallback):
    """Writes a line after each batch: how long it took so far, and the latency of all tasks.

    Args:
        log_file: the file; what it has is replaced.
    """

    def __init__(self, log_file: str | os.PathLike[str]) -> None:
        self.log_file = Path(log_file)
        self.log_file.unlink(missing_ok=True)
        self._start = time.monotonic()

    def post_tune(self, task_scheduler: TaskScheduler, task_id: int) -> None:
        """Write a line, with times in seconds and milliseconds."""
        latency = f"{task_scheduler.cur_score * 1e3:.3f}"
        with self.log_file.open("a") as file:
            file.write(
                f"ElapsedTime(s)\t{time.monotonic() - self._start:.0f}\t"
                f"EstimatedLatency(ms)\t{latency}\tTrials\t{task_scheduler.ct}\n"
            )


class _Events(TuningObserver):
    """Tells callbacks what the tuner tells."""

    def __init__(self, owner: TaskScheduler) -> None:
        self._owner = owner

    def begin(self, scheduler: TunerScheduler) -> None:
        self._owner.records = scheduler.tasks

    def task_picked(self, task: TaskRecord) -> None:
        for callback in self._owner.callbacks:
            callback.pre_tune(self._owner, task.task_id)

    def batch_ends(self, task: TaskRecord) -> None:
        for callback in self._owner.callbacks:
            callback.post_tune(self._owner, task.task_id)


class TaskScheduler:
    """Tunes many tasks, such as those of a model.

    Args:
        tasks: the tasks.
        task_weights: how often each one runs; by default once.
        objective_func: from the latencies of the tasks, in seconds, to what is to be small; by
            default their sum, weighted.
        strategy: ``"gradient"``, the task that promises the largest gain is next, or
            ``"round-robin"``.
        load_model_file: what an `XGBModel` has saved, to go on from.
        load_log_file: a log to go on from: what it has is not measured again.
        alpha: how much the recent past counts for ``"gradient"``, see `GradientBased`.
        beta: for old programs; tasks do not count as similar.
        gamma: for old programs.
        backward_window_size: number of batches of the recent past.
        callbacks: told about batches, such as `PrintTableInfo`.

    Attributes:
        records: what the tuner knows of each task; empty before `tune`.

    Raises:
        ArgumentError: for tasks or weights that are none.
        ArgumentValueError: for an unknown strategy.
    """

    def __init__(
        self,
        tasks: Sequence[SearchTask],
        task_weights: Sequence[float] | None = None,
        objective_func: Callable[[Sequence[float]], float] | None = None,
        strategy: str = "gradient",
        load_model_file: str | os.PathLike[str] | None = None,
        load_log_file: str | os.PathLike[str] | None = None,
        alpha: float = 0.2,
        beta: float = 2,
        gamma: float = 0.5,
        backward_window_size: int = 3,
        callbacks: Sequence[TaskSchedulerCallback] | None = None,
    ) -> None:
        del beta, gamma
        if not tasks or not all(isinstance(task, SearchTask) for task in tasks):
            raise ArgumentError(f"TaskScheduler: expected a list of SearchTasks, got {tasks!r}")
        weights = [1.0] * len(tasks) if task_weights is None else task_weights
        if len(weights) != len(tasks):
            raise ArgumentError(
                f"TaskScheduler: there are {len(tasks)} tasks, but {len(weights)} task_weights"
            )
        require_one_of("TaskScheduler: strategy", strategy, ("gradient", "round-robin"))
        self.tasks, self.strategy = list(tasks), strategy
        self.task_weights = [float(weight) for weight in weights]
        self.objective_func = objective_func or self._weighted_sum
        self._objective = objective_func
        self._model_file, self._log_file = load_model_file, load_log_file
        self._alpha, self._window = alpha, backward_window_size
        self.callbacks = list(callbacks or ())
        self.records: Sequence[TaskRecord] = ()

    def _weighted_sum(self, costs: Sequence[float]) -> float:
        return sum(c * weight for c, weight in zip(costs, self.task_weights, strict=True))

    @property
    def best_costs(self) -> list[float]:
        """Seconds per run of the best candidate of each task; infinity before there is one."""
        return [record.latency for record in self.records]

    @property
    def task_cts(self) -> list[int]:
        """Number of trials of each task."""
        return [record.trials for record in self.records]

    @property
    def ct(self) -> int:
        """Number of trials of all tasks."""
        return sum(self.task_cts)

    @property
    def cur_score(self) -> float:
        """The objective of the latencies so far."""
        return self.objective_func(self.best_costs)

    def tune(
        self,
        tune_option: TuningOptions,
        search_policy: str | Sequence[SearchPolicy] = "default",
        search_policy_params: Mapping[str, Any] | None = None,
        adaptive_training: bool = False,
        per_task_early_stopping: int | None = None,
    ) -> None:
        """Spend trials on the tasks.

        Args:
            tune_option: how much is measured, of all tasks together.
            search_policy: ``"default"`` or ``"sketch.xgb"``, ``"sketch.random"``, or a policy for
                each task, all with the same cost model.
            search_policy_params: see `SketchPolicy`.
            adaptive_training: do not learn anew from every measurement.
            per_task_early_stopping: number of trials without a gain after which a task ends; by
                default `early_stopping` of the options.

        Raises:
            TuningError: if not a single candidate ran; it says why.
            TargetError: for a target whose code does not run on this machine.
        """
        policies = self._policies(
            search_policy, search_policy_params, adaptive_training, tune_option.verbose
        )
        known = MemoryDatabase()
        for policy in policies:
            known.commit_tuning_records(policy.known.get_all_tuning_records())
        options = tune_option.for_tuner(
            policies[0].cost_model, known, [task.target for task in self.tasks]
        )
        prints = any(isinstance(callback, PrintTableInfo) for callback in self.callbacks)
        options = replace(
            options,
            task_scheduler=self._scheduler(),
            patience=per_task_early_stopping or options.patience,
            progress=options.progress and not prints,
            observers=[_Events(self)],
        )
        contexts = [policy.context for policy in policies]
        run_tasks(contexts, self.task_weights, None, options)

    def _scheduler(self) -> TunerScheduler:
        if self.strategy == "round-robin":
            return RoundRobin()
        return GradientBased(alpha=self._alpha, window_size=self._window, objective=self._objective)

    def _policies(
        self,
        kind: str | Sequence[SearchPolicy],
        params: Mapping[str, Any] | None,
        adaptive_training: bool,
        verbose: int,
    ) -> list[SearchPolicy]:
        if not isinstance(kind, str):
            policies = list(kind)
            if [getattr(policy, "task", None) for policy in policies] != self.tasks:
                raise ArgumentError(
                    "TaskScheduler.tune: search_policy has one policy for each task"
                )
            return policies
        if kind not in ("default", "sketch.xgb", "sketch.random"):
            raise ArgumentValueError(
                'TaskScheduler.tune: search_policy is "default", "sketch.xgb", "sketch.random" or '
                f"a list of policies, got {kind!r}"
            )
        model: CostModel = RandomModel()
        if kind != "sketch.random":
            model = XGBModel(adaptive_training=adaptive_training)
            if self._model_file is not None:
                model.load(str(self._model_file))
        callbacks = [] if self._log_file is None else [PreloadMeasuredStates(self._log_file)]
        return [
            SketchPolicy(task, model, params, verbose=verbose, init_search_callbacks=callbacks)
            for task in self.tasks
        ]
