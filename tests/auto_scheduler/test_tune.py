"""Tuning: what is searched, what is deployed, and going on."""

import gc

import numpy as np
import pytest
from tests.auto_scheduler.programs import TARGET, matmul_task, quick_options

import tilewright as tvm
from tilewright import auto_scheduler, te, tir
from tilewright.auto_scheduler import (
    EmptyPolicy,
    HardwareParams,
    LocalBuilder,
    LocalRPCMeasureContext,
    PreloadMeasuredStates,
    SearchCallback,
    SketchPolicy,
    TuningOptions,
    XGBModel,
)
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DatabaseError,
    RecordError,
    TargetError,
)
from tilewright.ir.structural import assert_structural_equal
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.integration import compile_tir
from tilewright.tune.measure import Runner, RunnerFuture, RunnerResult


def test_the_best_schedule_runs_and_is_right(tuned):
    task, log = tuned
    sch, args = task.apply_best(log)
    assert args == task.compute_dag.tensors
    function = tvm.build(sch, args, task.target)
    a, b = np.random.default_rng(0).random((2, 32, 32), "float32")
    c = np.empty_like(a)
    function(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert len(tvm.lower(sch, args).functions) == 1


def test_the_best_schedule_is_the_one_that_the_tuner_chose(tuned_once):
    task, log, policy = tuned_once
    sch, args = task.apply_best(log)
    chosen = compile_tir(policy.known, task.compute_dag.func, task.target)
    assert_structural_equal(te.schedule.schedule_to_prim_func(sch, args), chosen.mod["main"])


def test_python_that_repeats_the_best_schedule(tuned):
    task, log = tuned
    text = task.print_best(log, print_mode="schedule")
    assert text.startswith('# ["small_matmul", 32, 32, 32] for llvm')
    names = {}
    exec(text, names)
    assert isinstance(names["sch"], tir.Schedule)
    sch, args = task.apply_best(log)
    again = names["sch"].mod["main"]
    assert_structural_equal(te.schedule.schedule_to_prim_func(sch, args), again)


def test_source_of_the_best_schedule(tuned):
    task, log = tuned
    assert "define" in task.print_best(log, print_mode="source")
    assert task.print_best(log, print_mode="cuda") == task.print_best(log, "source")
    assert ".text" in task.print_best(log, print_mode="asm")
    with pytest.raises(ArgumentValueError, match="print_mode is 'schedule', 'source'"):
        task.print_best(log, print_mode="python")


def test_going_on(tuned):
    task, log = tuned
    before = list(auto_scheduler.load_records(log))
    model = XGBModel()
    model.update_from_file(log)
    policy = SketchPolicy(task, model, seed=2, init_search_callbacks=[PreloadMeasuredStates(log)])
    known = len(policy.known)
    assert known == len(before)
    samples = len(model.samples)
    context = LocalRPCMeasureContext(number=1, min_repeat_ms=1)
    task.tune(quick_options(log, 2, runner=context.runner), search_policy=policy)
    del context
    after = list(auto_scheduler.load_records(log))
    new = [inp.record for inp, _ in after[len(before) :]]
    measured = {str(inp.record.trace_json) for inp, _ in before}
    assert len({str(record.trace_json) for record in new} - measured) == 2
    # What was measured is learned once.
    assert len(model.samples) == samples + sum(not record.supersedes for record in new)


def test_the_search_goes_on_without_a_log(tmp_path, caplog):
    policy = SketchPolicy(
        matmul_task(), init_search_callbacks=[PreloadMeasuredStates(tmp_path / "none.json")]
    )
    assert len(policy.known) == 0
    assert "there is no log" in caplog.text


def test_records_of_other_tasks_are_not_known(tuned):
    _, log = tuned
    callbacks = [PreloadMeasuredStates(log)]
    assert not len(SketchPolicy(matmul_task(16), init_search_callbacks=callbacks).known)
    other = matmul_task(target="llvm -num-cores=2")
    assert not len(SketchPolicy(other, init_search_callbacks=callbacks).known)


def test_no_record(tuned, tmp_path):
    task, log = tuned
    with pytest.raises(DatabaseError, match="there is no record file"):
        task.apply_best(tmp_path / "none.json")
    with pytest.raises(RecordError, match=r"no valid record of .*16.* for llvm"):
        matmul_task(16).apply_best(log)
    other = matmul_task(target="llvm -mcpu=skylake-avx512 -num-cores=7")
    with pytest.raises(RecordError, match="num-cores=7; tune the task with RecordToFile"):
        other.print_best(log)
    sch, args = other.apply_best(log, include_compatible=True)
    assert tvm.lower(sch, args)


def test_a_record_that_does_not_apply_is_passed_over(tuned, caplog):
    task, log = tuned
    text = log.read_text()
    (best, _) = auto_scheduler.load_best_record(log)
    damaged = text.replace('"main"],["b0"]', '"main"],["b0x"]')
    assert damaged != text
    log.write_text(damaged)
    with pytest.raises(RecordError, match="no valid record"):
        task.apply_best(log)
    assert "passed over TuningRecord" in caplog.text
    assert best.record.trace_json


def test_the_program_as_it_is_written(tmp_path):
    log = tmp_path / "empty.json"
    task = matmul_task(8)
    task.tune(quick_options(log, 8), search_policy=EmptyPolicy(task))
    traces = {str(inp.state.sch.trace) for inp, _ in auto_scheduler.load_records(log)}
    assert len(traces) <= 2


def test_callbacks_of_the_user_see_each_batch():
    sizes = []

    class Batches(MeasureCallback):
        def apply(self, task_scheduler, task_id, measure_candidates, *_):
            sizes.append(len(measure_candidates))

    options = quick_options(trials=3)
    options.measure_callbacks.append(Batches())
    matmul_task().tune(options)
    assert sum(sizes) == 3


def test_spaces_of_callbacks():
    class Vectors(SearchCallback):
        def apply(self, policy):
            policy.spaces.append(self.space)

        def space(self, sch):
            sch.vectorize(sch.get_loops("C")[1])

    class Nothing(SearchCallback):
        pass

    policy = SketchPolicy(matmul_task(), init_search_callbacks=[Vectors()])
    plain = SketchPolicy(matmul_task())
    assert len(policy.generate_sketches()) == len(plain.generate_sketches()) + 1
    with pytest.raises(NotImplementedError, match="Nothing does not define `apply`"):
        SketchPolicy(matmul_task(), init_search_callbacks=[Nothing()])
    with pytest.raises(ArgumentError, match="init_search_callbacks are SearchCallbacks"):
        SketchPolicy(matmul_task(), init_search_callbacks=["log.json"])


def test_a_search_step_by_step(capsys):
    params = {"sample_init_min_population": 12, "evolutionary_search_population": 8}
    policy = SketchPolicy(matmul_task(), XGBModel(), params=params, seed=3)
    sketches = policy.generate_sketches(print_for_debug=True)
    assert capsys.readouterr().out.count("Sketch #") == len(sketches)
    population = policy.sample_initial_population()
    assert len(population) >= 12
    best = policy.evolutionary_search([*population, sketches[0]], 5)
    assert len(best) == 5
    scores = policy.cost_model.predict(policy.context, best)
    assert sorted(scores, reverse=True) == list(scores)
    sch, args = policy.task.compute_dag.apply_steps_from_state(best[0])
    assert tvm.lower(sch, args)


def test_parameters_of_the_search():
    strategy = SketchPolicy(matmul_task(), params={"eps_greedy": 0.5}).context.search_strategy
    assert strategy.eps_greedy == 0.5
    assert strategy.population_size == 512
    with pytest.raises(ArgumentValueError, match="no parameter 'eps'"):
        SketchPolicy(matmul_task(), params={"eps": 0.5})
    with pytest.raises(ArgumentValueError, match="means nothing here, rules make the space"):
        SketchPolicy(matmul_task(), params={"max_vectorize_size": 8})
    with pytest.raises(ArgumentError, match="expected a SearchTask, got 3"):
        SketchPolicy(3)


def test_targets_that_cannot_be_measured():
    for target in ("vulkan", "llvm -mtriple=riscv64-linux-gnu"):
        for runner in ("local", auto_scheduler.LocalRunner()):
            with pytest.raises(TargetError, match=r"measured on this machine|run on this machine"):
                matmul_task(target=target).tune(TuningOptions(2, runner=runner))


def test_a_runner_of_the_user(tmp_path):
    class Instant(Runner):
        def run(self, runner_inputs):
            return [RunnerFuture(lambda: True, lambda: RunnerResult([1.0])) for _ in runner_inputs]

    task, log = matmul_task(8), tmp_path / "log.json"
    task.tune(quick_options(log, 2, runner=Instant()))
    assert [result.costs for _, result in auto_scheduler.load_records(log)][:1] == [(1.0,)]


def test_options_that_make_no_sense():
    with pytest.raises(ArgumentValueError, match="num_measure_trials is 0"):
        matmul_task().tune(TuningOptions())
    with pytest.raises(ArgumentValueError, match="num_measure_trials is not negative"):
        TuningOptions(-1)
    context = LocalRPCMeasureContext()
    with pytest.raises(ArgumentError, match=r"runner is 'local', .* give its `runner`"):
        TuningOptions(2, runner=context)
    with pytest.raises(ArgumentError, match="expected TuningOptions, got 3"):
        matmul_task().tune(3)
    with pytest.raises(ArgumentError, match="a policy of this task"):
        matmul_task().tune(TuningOptions(2), search_policy=SketchPolicy(matmul_task()))
    with pytest.raises(ArgumentValueError, match="no tracker is asked for machines"):
        auto_scheduler.RPCRunner("key", "host", 9190)
    with pytest.raises(ArgumentValueError, match="build_func is 'default'"):
        LocalBuilder(build_func="ndk")


def test_the_names_of_options_reach_the_tuner():
    options = TuningOptions(8, early_stopping=3, num_measures_per_round=4, verbose=0)
    given = options.for_tuner(None, None, [tvm.target.Target(TARGET)])
    assert (given.max_trials_global, given.patience, given.num_trials_per_iter) == (8, 3, 4)
    assert not given.progress
    runner = auto_scheduler.LocalRunner(7, 5, 2, 30, 0.5, True)
    config = runner.evaluator_config
    assert (runner.timeout_sec, runner.cooldown_sec) == (7, 0.5)
    assert (config.number, config.repeat, config.min_repeat_ms) == (5, 2, 30)
    assert config.enable_cpu_cache_flush
    assert LocalBuilder(7, 3).max_workers == 3


def test_the_process_of_a_context_ends_with_it():
    context = LocalRPCMeasureContext()
    runner = context.runner
    closed = []
    runner.close = lambda: closed.append(True)
    del context
    gc.collect()
    assert closed == [True]


def test_the_description_of_the_machine_reaches_the_tuner():
    task = matmul_task(target="llvm", hardware_params=HardwareParams(num_cores=1))
    assert SketchPolicy(task).context.target.num_cores == 1
