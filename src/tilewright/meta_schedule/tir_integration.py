"""Tuning of tensor programs, and lookup of tuned schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.meta_schedule.compatibility import TuneConfig
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tune.cost_model import CostModel
from tilewright.tune.integration import compile_tir
from tilewright.tune.options import SearchOptions, Space, TuneOptions, takes
from tilewright.tune.scheduler import TaskScheduler
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import PostOrderApply
from tilewright.tune.tuning import require_measurable, run_tasks
from tilewright.tune.workload import normalized

__all__ = ["compile_tir", "tune_tir"]


@takes(options=TuneOptions, search=SearchOptions)
def tune_tir(
    mod: IRModule | PrimFunc,
    target: Target | str | Mapping[str, Any],
    work_dir: Any = None,
    max_trials_global: Any = None,
    *,
    options: TuneOptions,
    search: SearchOptions,
    special_space: Mapping[str, Space] | None = None,
    config: TuneConfig | None = None,
    task_name: str | None = None,
    sch_rules: Any = None,
    postprocs: Any = None,
    mutator_probs: Any = None,
) -> Any:
    """Search for the fastest schedule of each function of a module by measuring.

    With `config` it is called as by old programs, ``tune_tir(mod, target, config, work_dir)``, and
    returns the best schedule of the function `task_name` instead of the database.

    Args:
        mod: the functions; a task each.
        target: the target of the tuning.
        work_dir: a directory for the records and the logs.
        max_trials_global: maximum number of measured candidates.
        options: see `TuneOptions`.
        search: see `SearchOptions`.
        special_space: spaces for some of the functions, by name.
        config: the options as old programs give them.
        task_name: in old programs, the name of the task.
        sch_rules: in old programs, the rules that make the space.
        postprocs: in old programs, the postprocessors of the space.
        mutator_probs: in old programs, the mutators of the space.

    Returns:
        Database: with a record of each candidate; in the old form `Schedule`, or None if nothing
            was found.

    Raises:
        TuningError: if not a single candidate ran; it says why.
    """
    if isinstance(work_dir, TuneConfig):
        work_dir, max_trials_global, config = max_trials_global, None, work_dir
    if (config is None) is (max_trials_global is None):
        raise ArgumentError("tune_tir: give `max_trials_global`, or in old programs `config`")
    if config is not None:
        options, search = _configured(options, search, config)
    parts = {"sch_rules": sch_rules, "postprocs": postprocs, "mutator_probs": mutator_probs}
    given = {name: part for name, part in parts.items() if part is not None}
    if given:
        search = replace(search, space=PostOrderApply(**given))
    target = Target(target)
    if options.runner in (None, "local"):
        require_measurable(target)
    functions = _functions(mod, special_space or {})
    tasks = [
        (task_name if task_name and len(functions) == 1 else name, normalized(function), target)
        for name, function in functions.items()
    ]
    contexts = search.contexts(tasks, special_space)
    found = run_tasks(contexts, [1.0] * len(tasks), work_dir, options)
    return found if config is None else compile_tir(found, mod, target)


def _configured(
    options: TuneOptions, search: SearchOptions, config: TuneConfig
) -> tuple[TuneOptions, SearchOptions]:
    """The options with those that old programs give."""
    cost_model, strategy = options.cost_model, search.strategy
    if config.adaptive_training is not None and cost_model == "xgb":
        cost_model = CostModel.create("xgb", adaptive_training=config.adaptive_training)
    if isinstance(strategy, str):
        strategy = SearchStrategy.create(config.strategy, **(config.search_strategy_config or {}))
    scheduler = TaskScheduler.create(config.task_scheduler, **(config.task_scheduler_config or {}))
    options = replace(
        options,
        max_trials_global=config.max_trials_global,
        max_trials_per_task=config.max_trials_per_task,
        num_trials_per_iter=config.num_trials_per_iter,
        cost_model=cost_model,
        task_scheduler=scheduler,
    )
    return options, replace(search, strategy=strategy)


def _functions(mod: Any, special_space: Mapping[str, Space]) -> dict[str, PrimFunc]:
    """The functions of a module in the order of their names."""
    if isinstance(mod, PrimFunc):
        mod = IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise ArgumentError(f"tune_tir: expected an IRModule or a PrimFunc, got {mod!r}")
    functions = {var.name_hint: f for var, f in mod.functions.items() if isinstance(f, PrimFunc)}
    if not functions:
        raise ArgumentError("tune_tir: the module has no tensor program")
    unknown = sorted(set(special_space) - set(functions))
    if unknown:
        raise ArgumentError(
            f"tune_tir: special_space is for {unknown}, but the functions are {sorted(functions)}"
        )
    return dict(sorted(functions.items()))
