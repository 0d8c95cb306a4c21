"""`TuneConfig`: the options of tuning as old programs give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class TuneConfig(NamedTuple):
    """Options of a tuning run; newer programs give them to `tune_tir` directly.

    Attributes:
        max_trials_global: how many candidates are measured at most.
        num_trials_per_iter: how many at a time.
        max_trials_per_task: how many of each program.
        task_scheduler: shares trials among tasks.
        strategy: chooses candidates.
        task_scheduler_config: options of the task scheduler.
        search_strategy_config: options of the strategy.
        logger_config: kept for old programs; the files of `work_dir` have all that is logged.
        adaptive_training: whether the cost model learns from every batch, or only from those that
            it predicted badly.
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
