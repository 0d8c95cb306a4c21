"""Templates in the tuner: traces that stand for configs, and candidates that are refused."""

import json

import numpy as np
import pytest
from tests.autotvm.templates import matmul, scale  # noqa: F401, registers them

import tilewright as tvm
from tilewright import autotvm, te
from tilewright import meta_schedule as ms
from tilewright.autotvm.task.template import _TEMPLATES
from tilewright.autotvm.template_space import TemplateSpace
from tilewright.autotvm.template_step import config_of, template_trace
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    InstantiationError,
    RecordError,
    TuningError,
    UnknownNameError,
)
from tilewright.tir.schedule import Schedule, ScheduleError
from tilewright.tune.context import TuneContext
from tilewright.tune.replay import replayed
from tilewright.tune.tuning import tune_tasks


def tuning(task, strategy="grid", seed=1):
    return TuneContext(
        task.mod,
        target=task.target,
        space_generator=TemplateSpace(task),
        search_strategy=strategy,
        rand_state=seed,
    )


def candidates(context, count=100):
    context.pre_tuning(count, count)
    return context.generate_measure_candidates() or []


@pytest.fixture
def task():
    return autotvm.task.create("tests/matmul", [8, 12, 4], "llvm")


def trace_of(task, index):
    return template_trace(task, task.config_space.get(index))


def test_configs_and_traces_stand_for_each_other(task):
    for index in range(len(task.config_space)):
        config = task.config_space.get(index)
        form = json.loads(json.dumps(template_trace(task, config).as_json()))
        for trace in (form, template_trace(task, config)):
            same, found = config_of(trace)
            assert (same.workload, found, found.index) == (task.workload, config, index)
    read = autotvm.ConfigEntity.from_json_dict(json.loads(json.dumps(config.to_json_dict())))
    assert template_trace(task, read).as_json() == template_trace(task, config).as_json()


def test_a_trace_makes_the_program_of_its_config(task):
    a, b = (np.random.rand(*shape).astype("float32") for shape in ((8, 4), (4, 12)))
    for index in (0, 7, 23, len(task.config_space) - 1):
        sch = replayed(trace_of(task, index).as_json(), task.mod)
        own, args = task.instantiate(task.config_space.get(index))
        expected = tvm.te.schedule.schedule_to_prim_func(own, args)
        tvm.ir.assert_structural_equal(sch.mod["main"], expected)
        c = np.zeros((8, 12), "float32")
        arrays = [tvm.nd.array(x) for x in (a, b, c)]
        tvm.build(sch.mod, target="llvm")["main"](*arrays)
        np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-5)


def test_arguments_may_be_tensors():
    data, weight = te.placeholder((4, 6)), te.placeholder((8, 6))
    task = autotvm.task.create("tests/dense", [data, weight], "llvm")
    form = json.loads(json.dumps(trace_of(task, 2).as_json()))
    same, config = config_of(form)
    assert (same.workload, config.index) == (task.workload, 2)
    own = te.schedule.schedule_to_prim_func(*task.instantiate(config))
    tvm.ir.assert_structural_equal(replayed(form, task.mod).mod["main"], own)


def test_a_template_may_compute_otherwise_with_each_config():
    task = autotvm.task.create("tests/packed", [8, 12, 4], "llvm -num-cores=1")
    context = tuning(task)
    found = candidates(context)
    assert len(found) == len(task.config_space)
    a, b = (np.random.rand(*shape).astype("float32") for shape in ((8, 4), (4, 12)))
    for candidate in found:
        c = np.zeros((8, 12), "float32")
        tvm.build(candidate.sch.mod, target="llvm")["main"](a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_a_config_that_computes_something_else_does_not_win():
    task = autotvm.task.create("tests/wrong", [256], "llvm -num-cores=1")
    database = tune_tasks(
        tasks=[tuning(task)],
        task_weights=[1.0],
        work_dir=None,
        database="memory",
        cost_model="none",
        max_trials_global=2,
    )
    records = {
        config_of(record.trace_json)[1]["right"].val: record
        for record in database.get_all_tuning_records()
    }
    assert records[True].is_valid
    assert records[False].error_kind == "wrong-result"


def test_records_serve_the_program(task):
    tasks = [tuning(task, "random")]
    database = tune_tasks(
        tasks=tasks, task_weights=[1.0], work_dir=None, database="memory", max_trials_global=2
    )
    sch = ms.tir_integration.compile_tir(database, task.mod["main"], task.target)
    assert config_of(sch.trace)[0].workload == task.workload


def test_a_trace_prints_as_python_that_runs(task):
    trace = trace_of(task, 5)
    scope = {}
    exec(str(trace).replace("tir.Schedule", "object"), scope)
    sch = Schedule(task.mod)
    scope["apply_trace"](sch)
    assert config_of(sch.trace)[1].index == 5


def test_the_tuner_measures_configs(task):
    database = tune_tasks(
        tasks=[tuning(task, "random")],
        task_weights=[1.0],
        work_dir=None,
        database="memory",
        cost_model="none",
        max_trials_global=4,
        num_trials_per_iter=4,
    )
    records = database.get_all_tuning_records()
    assert all(record.is_valid for record in records)
    found = {config_of(record.trace_json)[1].index for record in records}
    assert len(found) == 4
    assert found < set(range(len(task.config_space)))


def test_all_configs_are_candidates_once(task):
    found = candidates(tuning(task))
    indices = [config_of(candidate.sch.trace)[1].index for candidate in found]
    assert len(set(indices)) == len(indices) > 1
    programs = {tvm.ir.structural_hash(candidate.sch.mod) for candidate in found}
    every = (task.instantiate(task.config_space.get(i)) for i in range(len(task.config_space)))
    expected = {tvm.ir.structural_hash(tvm.te.schedule.schedule_to_prim_func(*s)) for s in every}
    assert len(programs) == len(expected)


def test_a_space_for_a_gpu():
    found = candidates(tuning(autotvm.task.create("tests/gpu", [4], "cuda")))
    assert len(found) == 9
    for candidate in found:
        assert "threadIdx.y" in str(candidate.sch.mod)
        assert "shared" in str(candidate.sch.mod)


def test_threads_may_add_up_together():
    found = candidates(tuning(autotvm.task.create("tests/gpu_sum", [4, 8], "cuda")))
    assert len(found) == 3


def test_bad_configs_are_refused_with_a_reason():
    task = autotvm.task.create("tests/scale", [4, ["filter"]], "llvm")
    context = tuning(task)
    found = candidates(context)
    kinds = {config_of(candidate.sch.trace)[1]["kind"].val for candidate in found}
    assert kinds == {"good"}
    assert context.search_strategy.refusals == {
        "the kind is bad": 1,
        "ZeroDivisionError in the template": 1,
        "TEScheduleError in the template": 1,
        "the schedule cannot be lowered": 1,
        "other parameters": 1,
        "a filter of the template": 10,
    }


def test_iterations_that_depend_on_each_other_do_not_run_at_once():
    context = tuning(autotvm.task.create("tests/rolling", [4], "llvm"))
    (found,) = candidates(context)
    assert config_of(found.sch.trace)[1]["parallel"].val is False
    assert context.search_strategy.refusals == {"the schedule cannot be lowered": 1}


def test_spaces_in_which_there_is_nothing_to_tune():
    with pytest.raises(TuningError, match="'tests/scale' defines no knobs"):
        tuning(autotvm.task.create("tests/scale", [4, ["no knobs"]], "llvm")).pre_tuning(4)
    with pytest.raises(TuningError, match=r"refused all of many random configs; .*the kind is bad"):
        tuning(autotvm.task.create("tests/scale", [4, ["always"]], "llvm")).pre_tuning(4)
    with pytest.raises(ArgumentError, match=r"a task of autotvm\.task\.create"):
        TemplateSpace("tests/matmul")


def test_a_trace_applies_to_the_program_of_its_task_only(task):
    other = autotvm.task.create("tests/scale", [96], "llvm")
    with pytest.raises(ScheduleError, match="the program is not the one that the template"):
        trace_of(task, 0).apply_to_schedule(Schedule(other.mod))
    twice = Schedule(task.mod)
    trace_of(task, 3).apply_to_schedule(twice)
    with pytest.raises(ScheduleError, match="before any other step"):
        trace_of(task, 3).apply_to_schedule(twice)


def test_configs_of_other_tasks(task):
    other = autotvm.task.create("tests/matmul", [9, 12, 4], "llvm")
    with pytest.raises(ArgumentValueError, match=r"another task: \[-1, 9\] is not a value of .*_y"):
        template_trace(task, other.config_space.get(2))
    scaled = autotvm.task.create("tests/scale", [4], "llvm").config_space.get(0)
    with pytest.raises(ArgumentValueError, match=r"another task: it has the knobs \['tile', 'kin"):
        template_trace(task, scaled)
    with pytest.raises(InstantiationError, match="the config has no knob 'tile_y'"):
        task.instantiate(scaled)


def test_templates_that_changed_or_are_not_there(task, monkeypatch):
    form = trace_of(task, 4).as_json()
    changed = json.loads(json.dumps(form).replace(task.config_space.fingerprint, "0" * 16))
    with pytest.raises(RecordError, match="other knobs than when"):
        replayed(changed, task.mod)
    with pytest.raises(RecordError, match="other knobs than when"):
        config_of(changed)
    monkeypatch.delitem(_TEMPLATES, "tests/matmul")
    with pytest.raises(RecordError, match="no template 'tests/matmul' in this process"):
        replayed(form, task.mod)
    with pytest.raises(UnknownNameError, match="Import the module"):
        config_of(form)


@pytest.mark.parametrize("form", [None, [], [[], []], [[["Split", [], [], []]], []], [[[]], 4]])
def test_traces_that_no_template_made(form):
    with pytest.raises(RecordError, match="no template made"):
        config_of(form)


def test_positions_that_there_are_not(task):
    insts, decisions = trace_of(task, 4).as_json()
    insts[-1][2][-1] = [99, 0, 0]
    with pytest.raises(RecordError, match=r"the positions \[99, 0, 0\] are not those of a config"):
        replayed([insts, decisions], task.mod)
