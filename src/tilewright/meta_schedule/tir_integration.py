"""Tuning of tensor programs, and lookup of tuned schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.meta_schedule.compatibility import TuneConfig
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.traces.random_state import RandomState
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.integration import compile_tir
from tilewright.tune.measure import Builder, Runner
from tilewright.tune.scheduler import TaskScheduler
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import PostOrderApply, SpaceGenerator
from tilewright.tune.tuning import require_measurable, tune_tasks
from tilewright.tune.workload import normalized

__all__ = ["compile_tir", "tune_tir"]

Space = Any
"""A `SpaceGenerator`, its name, or a function of a schedule."""


def tune_tir(
    mod: IRModule | PrimFunc,
    target: Target | str | Mapping[str, Any],
    work_dir: Any = None,
    max_trials_global: Any = None,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Builder | str | None = "local",
    runner: Runner | str | None = "local",
    database: Database | str | None = "json",
    cost_model: CostModel | str | None = "xgb",
    measure_callbacks: Sequence[MeasureCallback] | MeasureCallback | str | None = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    space: Space = "post-order-apply",
    strategy: SearchStrategy | str = "evolutionary",
    num_tuning_cores: int | Literal["physical", "logical"] = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: Mapping[str, Space] | None = None,
    max_seconds: float | None = None,
    patience: int | None = None,
    report: str | Path | Literal[True] | None = None,
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
        target: what they are tuned for.
        work_dir: a directory for the records and the logs.
        max_trials_global: how many candidates are measured at most.
        max_trials_per_task: how many of each function.
        num_trials_per_iter: how many at a time at most.
        builder: compiles candidates.
        runner: times candidates.
        database: where records go.
        cost_model: says which candidates are worth a trial.
        measure_callbacks: what happens after each batch.
        task_scheduler: shares trials among tasks.
        space: the sketches.
        strategy: chooses candidates.
        num_tuning_cores: how many processes may work on the search.
        seed: of all random choices; None for another one every time.
        module_equality: when records of one program count for another.
        special_space: spaces for some of the functions, by name.
        max_seconds: how long the search may take.
        patience: number of trials without a gain after which a task ends.
        report: a file for a report in HTML; True for ``report.html`` in `work_dir`.
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
        max_trials_global, num_trials_per_iter = (
            config.max_trials_global,
            config.num_trials_per_iter,
        )
        max_trials_per_task = config.max_trials_per_task
        options = config.task_scheduler_config or {}
        task_scheduler = TaskScheduler.create(config.task_scheduler, **options)
        if config.adaptive_training is not None and cost_model == "xgb":
            cost_model = CostModel.create("xgb", adaptive_training=config.adaptive_training)
        if isinstance(strategy, str):
            options = config.search_strategy_config or {}
            strategy = SearchStrategy.create(config.strategy, **options)
    parts = {"sch_rules": sch_rules, "postprocs": postprocs, "mutator_probs": mutator_probs}
    given = {name: part for name, part in parts.items() if part is not None}
    if given:
        space = PostOrderApply(**given)
    if runner is None or isinstance(runner, str):
        require_measurable(Target(target))
    tasks = _tasks(
        mod, Target(target), space, special_space or {}, strategy, num_tuning_cores, seed, task_name
    )
    found = tune_tasks(
        tasks=tasks,
        task_weights=[1.0] * len(tasks),
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        max_trials_per_task=max_trials_per_task,
        num_trials_per_iter=num_trials_per_iter,
        builder=builder or "local",
        runner=runner or "local",
        database=database or "json",
        cost_model=cost_model,
        measure_callbacks="default" if measure_callbacks is None else measure_callbacks,
        task_scheduler=task_scheduler,
        module_equality=module_equality,
        max_seconds=max_seconds,
        patience=patience,
        report=report,
    )
    return found if config is None else compile_tir(found, mod, Target(target))


def _tasks(
    mod: Any,
    target: Target,
    space: Space,
    special_space: Mapping[str, Space],
    strategy: SearchStrategy | str,
    num_threads: int | str,
    seed: int | None,
    task_name: str | None,
) -> list[TuneContext]:
    """A task for each function of a module, in the order of their names."""
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
    random = None if seed is None else RandomState(seed)
    return [
        TuneContext(
            normalized(functions[name]),
            target=target,
            space_generator=SpaceGenerator.create(special_space.get(name, space)).clone(),
            search_strategy=SearchStrategy.create(strategy).clone(),
            task_name=task_name if task_name and len(functions) == 1 else name,
            rand_state=-1 if random is None else random.next(),
            num_threads=num_threads,
        )
        for name in sorted(functions)
    ]
