"""Everything is there by the names that tutorials use."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright.tune import (
    callback,
    cost_model,
    database,
    feature,
    measure,
    mutator,
    postproc,
    rule,
    scheduler,
    search,
    space,
)

HOMES = {
    "builder": (measure, measure.Builder),
    "runner": (measure, measure.Runner),
    "cost_model": (cost_model, cost_model.CostModel),
    "database": (database, database.Database),
    "feature_extractor": (feature, feature.FeatureExtractor),
    "measure_callback": (callback, callback.MeasureCallback),
    "mutator": (mutator, mutator.Mutator),
    "postproc": (postproc, postproc.Postproc),
    "schedule_rule": (rule, rule.ScheduleRule),
    "search_strategy": (search, search.SearchStrategy),
    "space_generator": (space, space.SpaceGenerator),
    "task_scheduler": (scheduler, scheduler.TaskScheduler),
}


@pytest.mark.parametrize("name", HOMES)
def test_a_module_has_every_part_of_its_kind(name):
    home, base = HOMES[name]
    module = getattr(ms, name)
    public = {
        part: value
        for part, value in vars(home).items()
        if inspect.isclass(value) and issubclass(value, base)
    }
    assert len(public) > 1 or name in ("builder", "runner", "search_strategy")
    for part, value in public.items():
        assert getattr(module, part) is value
    assert getattr(module, f"Py{base.__name__}") is base
    assert getattr(ms, base.__name__) is base


@pytest.mark.parametrize(
    "name",
    [
        "arg_info.ArgInfo", "arg_info.TensorInfo", "builder.BuilderInput", "builder.BuilderResult",
        "runner.EvaluatorConfig", "runner.RunnerFuture", "runner.RunnerInput",
        "runner.RunnerResult", "database.Workload", "database.TuningRecord",
        "search_strategy.MeasureCandidate", "profiler.Profiler", "tune_context.TuneContext",
        "tir_integration.tune_tir", "tir_integration.compile_tir", "tune.tune_tasks",
        "logging.get_logger", "MeasureCandidate", "Profiler", "TuneConfig", "TuneContext",
        "tune_tir", "tune_tasks", "derived_object",
    ],
)  # fmt: skip
def test_names(name):
    module, _, attribute = name.rpartition(".")
    where = f"tilewright.meta_schedule.{module}".rstrip(".")
    assert callable(getattr(importlib.import_module(where), attribute))


def test_parts_by_name():
    assert isinstance(ms.task_scheduler.create("round-robin"), ms.task_scheduler.RoundRobin)
    assert isinstance(ms.database.create("memory"), ms.database.MemoryDatabase)
    assert isinstance(ms.space_generator.create(), ms.space_generator.PostOrderApply)
    kinds = [type(rule).__name__ for rule in ms.ScheduleRule.create("llvm")]
    assert {"AutoInline", "MultiLevelTiling", "ParallelizeVectorizeUnroll"} <= set(kinds)


def test_parallel_loops_are_turned_off():
    rules = []
    for one in ms.ScheduleRule.create("llvm"):
        if isinstance(one, ms.schedule_rule.ParallelizeVectorizeUnroll):
            rules.append(
                ms.schedule_rule.ParallelizeVectorizeUnroll(-1, 64, [0, 16, 64, 512], True)
            )
        else:
            rules.append(one.clone())
    mutators = [
        ms.mutator.MutateParallel(-1) if isinstance(m, ms.mutator.MutateParallel) else m.clone()
        for m in ms.Mutator.create("llvm")
    ]
    space = ms.space_generator.PostOrderApply(sch_rules=rules)
    assert [type(r) for r in space.sch_rules] == [type(r) for r in ms.ScheduleRule.create("llvm")]
    assert len(mutators) == len(ms.Mutator.create("llvm"))


def test_the_package_is_loaded_when_it_is_first_used():
    code = (
        "import sys; import tilewright as tvm\n"
        "assert 'tilewright.meta_schedule' not in sys.modules\n"
        "assert 'tilewright.tune' not in sys.modules\n"
        "tvm.meta_schedule.TuneContext; tvm.tune\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tvm.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_the_option_of_graph_compilation():
    assert not ms.is_meta_schedule_enabled()
    with tvm.transform.PassContext(config={"relay.backend.use_meta_schedule": True}):
        assert ms.is_meta_schedule_enabled()
        with tvm.transform.PassContext():
            assert ms.is_meta_schedule_enabled()


def test_loggers_are_below_that_of_the_tuner():
    assert ms.logging.get_logger("mine").name == "tilewright.tune.mine"


def test_all_names_of_a_module_are_imported_by_a_star():
    found: dict[str, object] = {}
    exec("from tilewright.meta_schedule.database import *", found)
    assert found["PyDatabase"] is found["Database"] is database.Database
    assert found["create"] == database.Database.create
    assert {"JSONDatabase", "Workload", "ModuleEquality"} <= found.keys()
    assert "annotations" not in found


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="meta_schedule' has no attribute 'nothing'"):
        ms.nothing
    with pytest.raises(AttributeError, match=r"meta_schedule\.profiler' has no attribute 'create'"):
        ms.profiler.create
    with pytest.raises(ImportError, match="cannot import name 'LocalBuilder'"):
        exec("from tilewright.meta_schedule.mutator import LocalBuilder")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tilewright.meta_schedule.nothing")


def test_names_are_listed():
    assert {"tune_tir", "runner", "derived_object", "relax_integration"} <= set(dir(ms))
    assert {"LocalRunner", "PyRunner"} <= set(dir(ms.runner))
