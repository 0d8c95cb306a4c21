"""Tuning through each front door, as its programs do, with the defaults of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import tilewright as tvm
from benchmarks.doors import templates
from benchmarks.doors.workloads import Workload
from tilewright import auto_scheduler, autotvm, te
from tilewright import meta_schedule as ms

SEED: Final = 1


class Search(NamedTuple):
    """What is searched.

    Attributes:
        workload: the computation.
        target: its target.
        trials: how many candidates are measured.
        folder: for records.
    """

    workload: Workload
    target: str
    trials: int
    folder: Path


class Found(NamedTuple):
    """What a front door found.

    Attributes:
        module: the best program.
        trials: how many candidates were measured.
    """

    module: tvm.runtime.Module
    trials: int


class Trials(ms.MeasureCallback):
    """Counts candidates that are measured."""

    count = 0

    def apply(
        self,
        task_scheduler: Any,
        task_id: int,
        measure_candidates: Sequence[Any],
        builder_results: Sequence[Any],
        runner_results: Sequence[Any],
    ) -> None:
        """Count a batch."""
        self.count += len(measure_candidates)


def by_meta_schedule(search: Search) -> Found:
    """From a tensor program, by the rules of the tuner."""
    func = te.create_prim_func(search.workload.tensors())
    trials = Trials()
    database = ms.tune_tir(
        func, search.target, search.folder, search.trials, seed=SEED,
        measure_callbacks=[*ms.MeasureCallback.create("default"), trials],
    )  # fmt: skip
    schedule = ms.tir_integration.compile_tir(database, func, search.target)
    return Found(tvm.build(schedule.mod, target=search.target), trials.count)


def by_auto_scheduler(search: Search) -> Found:
    """From tensors, by the rules of the tuner."""
    task = auto_scheduler.SearchTask(
        search.workload.function, search.workload.sizes, target=search.target
    )
    log = search.folder / "auto_scheduler.json"
    trials = Trials()
    policy = auto_scheduler.SketchPolicy(task, auto_scheduler.XGBModel(), seed=SEED, verbose=0)
    options = auto_scheduler.TuningOptions(
        search.trials, verbose=0, measure_callbacks=[auto_scheduler.RecordToFile(log), trials]
    )
    task.tune(options, policy)
    return Found(tvm.build(*task.apply_best(log), search.target), trials.count)


def by_autotvm(search: Search) -> Found:
    """From a template, by its knobs."""
    name, sizes = search.workload.function, search.workload.sizes
    log = str(search.folder / "autotvm.log")
    task = autotvm.task.create(name, list(sizes), search.target)
    trials = autotvm.callback.Monitor()
    autotvm.tuner.XGBTuner(task, seed=SEED).tune(
        min(search.trials, len(task.config_space)),
        autotvm.measure_option(builder="local", runner="local"),
        callbacks=[autotvm.callback.log_to_file(log), trials],
    )
    with autotvm.apply_history_best(log), tvm.target.Target(search.target):
        module = tvm.build(*templates.TEMPLATES[name](*sizes), search.target)
    return Found(module, len(trials.trial_scores()))


DOORS: Final[dict[str, Callable[[Search], Found]]] = {
    "meta_schedule": by_meta_schedule,
    "auto_scheduler": by_auto_scheduler,
    "autotvm": by_autotvm,
}
