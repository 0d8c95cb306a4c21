"""Names that programs for TVM use: `TuneConfig`, `derived_object`, and two functions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

from tilewright.error import ArgumentError
from tilewright.ir.pass_context import PassContext
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.feature import FeatureExtractor
from tilewright.tune.measure import Builder, Runner, RunnerFuture
from tilewright.tune.mutator import Mutator
from tilewright.tune.postproc import Postproc
from tilewright.tune.progress.log import TUNER
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.scheduler import TaskScheduler
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator


class TuneConfig(NamedTuple):
    """Options of a tuning run; newer programs pass them to `tune_tir` directly.

    Attributes:
        max_trials_global: maximum number of measured candidates.
        num_trials_per_iter: number of candidates per batch.
        max_trials_per_task: maximum number per program.
        task_scheduler: name of the task scheduler.
        strategy: name of the search strategy.
        task_scheduler_config: options of the task scheduler.
        search_strategy_config: options of the search strategy.
        logger_config: ignored; log files are written to `work_dir`.
        adaptive_training: whether the cost model is retrained only after bad predictions.
    """

    max_trials_global: int
    num_trials_per_iter: int = 64
    max_trials_per_task: int | None = None
    task_scheduler: str = "gradient"
    strategy: str = "evolutionary"
    task_scheduler_config: Mapping[str, Any] | None = None
    search_strategy_config: Mapping[str, Any] | None = None
    logger_config: Mapping[str, Any] | None = None
    adaptive_training: bool | None = None


def is_meta_schedule_enabled() -> bool:
    """Whether the option ``relay.backend.use_meta_schedule`` of the `PassContext` is set."""
    return PassContext.current().option("relay.backend.use_meta_schedule")


def get_logger(name: str) -> logging.Logger:
    """A logger below that of the tuner, so that the log file of a run has its messages."""
    return TUNER.getChild(name)


C = TypeVar("C", bound=type)

_METHODS: Final[dict[type, tuple[str, ...]]] = {
    Builder: ("build",),
    CostModel: ("update", "predict"),
    Database: (
        "has_workload", "commit_workload", "commit_tuning_record", "get_top_k",
        "get_all_tuning_records", "__len__",
    ),
    FeatureExtractor: ("extract_from",),
    MeasureCallback: ("apply",),
    Mutator: ("apply",),
    Postproc: ("apply",),
    Runner: ("run",),
    RunnerFuture: ("done", "result"),
    ScheduleRule: ("apply",),
    SearchStrategy: (
        "pre_tuning", "post_tuning", "generate_measure_candidates", "notify_runner_results",
    ),
    SpaceGenerator: ("generate_design_space",),
    TaskScheduler: ("next_task_id",),
}  # fmt: skip
"""Methods that a subclass defines, by base class."""


def derived_object(cls: C) -> C:
    """Check that a subclass of a part of the tuner defines its methods, and return it.

    Users derive from the base classes directly; the decorator reports missing methods early::

        @ms.derived_object
        class Double(ms.mutator.PyMutator):
            def apply(self, trace, random_state=None): ...

    Raises:
        ArgumentError: if a method is missing, or if the class derives from no part of the tuner.
    """
    base: Any = next((b for b in cls.__mro__ if b in _METHODS), None)
    if base is None:
        names = ", ".join(sorted(f"Py{b.__name__}" for b in _METHODS))
        raise ArgumentError(
            f"derived_object: {cls.__name__} derives from no part of the tuner, such as {names}"
        )
    if cls is base:
        raise ArgumentError(f"derived_object: derive a class from {base.__name__}")
    missing = [name for name in _METHODS[base] if getattr(cls, name) is getattr(base, name)]
    if missing:
        raise ArgumentError(
            f"derived_object: {cls.__name__} does not define {', '.join(missing)}, "
            f"as a {base.__name__} does"
        )
    return cls
