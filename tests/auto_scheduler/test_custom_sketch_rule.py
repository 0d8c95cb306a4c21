"""Sketches of rules of a user's own, from the functions to the best record of a log."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from tests.auto_scheduler.programs import matmul_task, quick_options

import tilewright as tvm
from tilewright import auto_scheduler, te
from tilewright.auto_scheduler import PreloadCustomSketchRule, SketchPolicy
from tilewright.auto_scheduler.loop_state import State
from tilewright.error import ArgumentError, TuningError
from tilewright.ir.structural import assert_structural_equal
from tilewright.tune.measure import Builder, BuilderResult, Runner, RunnerFuture, RunnerResult

PASS = PreloadCustomSketchRule.PASS
APPLY = PreloadCustomSketchRule.APPLY
APPLY_AND_SKIP_REST = PreloadCustomSketchRule.APPLY_AND_SKIP_REST
STEP = "te.apply_schedule"


def is_product(policy, state, stage_id):
    stage = State(state, policy.search_task.compute_dag).stages[stage_id]
    return APPLY_AND_SKIP_REST if stage.op.name == "C" else PASS


def tiled(policy, state, stage_id):
    own = State(state, policy.search_task.compute_dag)
    product = own.stage_ops[stage_id]
    i, j, k = own[product].iters
    i0, i1, i2 = own.split(product, i, [None, None])
    j0, j1 = own.split(product, j, [None])
    own.reorder(product, [i0, j0, i1, k, i2, j1])
    return [[own.state_object, stage_id - 1]]


def in_parallel(policy, state, stage_id):
    state.parallel(stage_id, 0)
    return [(state, stage_id - 1)]


def policy_of(*rules, task=None, **options):
    task = matmul_task() if task is None else task
    return SketchPolicy(task, seed=1, init_search_callbacks=list(rules), **options)


def own_sketches(policy):
    return [candidate.sch for candidate in policy.generate_sketches() if is_own(candidate.sch)]


def is_own(sch):
    return STEP in {inst.kind.name for inst in sch.trace.insts}


def test_the_sketch_of_a_rule_is_behind_those_of_the_tuner():
    policy = policy_of(PreloadCustomSketchRule(is_product, tiled))
    sketches = [candidate.sch for candidate in policy.generate_sketches()]
    plain = policy_of().generate_sketches()
    assert len(sketches) == len(plain) + 1
    assert str(sketches[0].trace) == str(plain[0].sch.trace), "the default schedule is the first"
    assert [is_own(sch) for sch in sketches] == [False] * len(plain) + [True]
    kinds = [inst.kind.name for inst in sketches[-1].trace.insts]
    assert kinds.count("sample_perfect_tile") == 2
    assert "annotate" in kinds, "how loops run is left to the search"


def test_a_state_that_says_how_loops_run_is_left_alone():
    (sch,) = own_sketches(policy_of(PreloadCustomSketchRule(is_product, in_parallel)))
    assert [inst.kind.name for inst in sch.trace.insts] == [STEP]
    assert "T.parallel" in sch.mod.script()


def test_several_rules():
    first = PreloadCustomSketchRule(lambda *_: APPLY, in_parallel, "first")
    second = PreloadCustomSketchRule(is_product, tiled, "second")
    task = matmul_task()
    task.compute_dag.get_init_state()
    only_product = PreloadCustomSketchRule(
        lambda policy, state, n: APPLY if is_product(policy, state, n) else PASS, in_parallel
    )
    assert len(own_sketches(policy_of(only_product, second))) == 2
    skipping = PreloadCustomSketchRule(is_product, in_parallel)
    assert len(own_sketches(policy_of(skipping, second))) == 1
    with pytest.raises(Exception, match="parallel: stage B has no iterator 0; it has none"):
        policy_of(first).generate_sketches()


def test_several_states_of_a_rule():
    def each(policy, state, stage_id):
        found = []
        for length in (4, 8):
            own = state.copy()
            own.split(stage_id, 1, [length])
            found.append([own, stage_id - 1])
        return found

    assert len(own_sketches(policy_of(PreloadCustomSketchRule(is_product, each)))) == 2


def test_a_state_that_a_rule_leaves_as_it_is():
    rule = PreloadCustomSketchRule(is_product, lambda policy, state, n: [[state, -1]])
    (sch,) = own_sketches(policy_of(rule))
    assert "split" not in str(sch.trace)


def test_what_a_function_does_to_a_state_that_it_does_not_return_is_forgotten():
    def spoil(policy, state, stage_id):
        state.compute_root(stage_id)
        return APPLY_AND_SKIP_REST if stage_id == 2 else PASS

    policy = policy_of(PreloadCustomSketchRule(spoil, tiled))
    (sch,) = own_sketches(policy)
    assert "compute_root" not in str(sch.trace)


def test_tensors_of_one_name():
    a = te.placeholder((8, 8), name="A")
    x = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="T")
    y = te.compute((8, 8), lambda i, j: x[j, i] * 2.0, name="T")
    dag = auto_scheduler.ComputeDAG([a, y])
    task = auto_scheduler.SearchTask(compute_dag=dag, target="llvm -num-cores=1")
    rule = PreloadCustomSketchRule(lambda p, s, n: APPLY_AND_SKIP_REST if n == 2 else PASS, tiled_y)
    (sch,) = own_sketches(policy_of(rule, task=task))
    function = tvm.build(sch.mod, target="llvm")
    value = np.arange(64, dtype="float32").reshape(8, 8)
    result = np.empty_like(value)
    function(value, result)
    np.testing.assert_array_equal(result, (value.T + 1) * 2)


def tiled_y(policy, state, stage_id):
    state.split(stage_id, 0, [4])
    state.compute_at(stage_id - 1, stage_id, 0)
    return [(state, stage_id - 1)]


class Marked(Builder):
    """Builds nothing, but notes which programs are those of the rule."""

    def __init__(self, folder):
        self.folder = folder

    def build(self, build_inputs):
        return [self._noted(item) for item in build_inputs]

    def _noted(self, item):
        path = Path(tempfile.mkdtemp(dir=self.folder)) / "program"
        path.write_text("own" if "i_outer_inner" in item.mod.script() else "other")
        return BuilderResult(str(path))


class PrefersOwn(Runner):
    """Says that programs of the rule are the fastest."""

    def run(self, runner_inputs):
        return [self._timed(item.artifact_path) for item in runner_inputs]

    def _timed(self, path):
        with open(path) as file:
            seconds = 1e-4 if file.read() == "own" else 1e-3
        return RunnerFuture(lambda: True, lambda: RunnerResult([seconds]))


def test_the_sketch_of_a_rule_can_win_and_is_found_again(tmp_path):
    folder, log = tmp_path / "built", tmp_path / "log.json"
    folder.mkdir()
    task = matmul_task()
    policy = policy_of(PreloadCustomSketchRule(is_product, tiled), task=task)
    options = quick_options(
        log, 8, builder=Marked(folder), runner=PrefersOwn(), num_measures_per_round=4
    )
    task.tune(options, policy)
    measured, result = auto_scheduler.load_best_record(log, task.workload_key)
    assert result.costs == (1e-4,)
    assert STEP in str(measured.record.trace_json)
    sch, args = task.apply_best(log)
    assert_structural_equal(
        te.schedule.schedule_to_prim_func(sch, args), measured.state.sch.mod["main"]
    )
    function = tvm.build(sch, args, task.target)
    a, b = np.random.default_rng(0).random((2, 32, 32), "float32")
    c = np.empty_like(a)
    function(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    text = task.print_best(log)
    names = {}
    exec(text, names)
    assert_structural_equal(names["sch"].mod["main"], measured.state.sch.mod["main"])


def test_the_sketch_of_a_rule_is_measured(tmp_path):
    task, log = matmul_task(), tmp_path / "log.json"
    by_chance = {"eps_greedy": 1.0}  # and not by the times that are measured
    policy = policy_of(PreloadCustomSketchRule(is_product, tiled), task=task, params=by_chance)
    task.tune(quick_options(log, 12), policy)
    pairs = list(auto_scheduler.load_records(log))
    own = [result for inp, result in pairs if STEP in str(inp.record.trace_json)]
    assert own
    assert len(own) < len(pairs)
    assert all(result.error_no == 0 for result in own)


MISTAKES = {
    "no function": (lambda: PreloadCustomSketchRule("C", tiled), ArgumentError, "meet_condition"),
    "no second function": (
        lambda: PreloadCustomSketchRule(is_product, None),
        ArgumentError,
        "apply_func is a function of the policy, a state",
    ),
    "another condition": (
        lambda: PreloadCustomSketchRule(lambda *_: 7, tiled, "mine"),
        ArgumentError,
        "mine: meet_condition_func returns PASS, APPLY or .* got 7",
    ),
    "no states": (
        lambda: PreloadCustomSketchRule(is_product, lambda *_: None, "mine"),
        ArgumentError,
        r"mine: apply_func returns a list of \[state, number of the next stage\], got None",
    ),
    "states without numbers": (
        lambda: PreloadCustomSketchRule(is_product, lambda p, s, n: [s], "mine"),
        ArgumentError,
        "mine: apply_func returns a list of",
    ),
    "a stage that does not exist": (
        lambda: PreloadCustomSketchRule(is_product, lambda p, s, n: [[s, 9]], "mine"),
        ArgumentError,
        "mine: apply_func returns a list of",
    ),
    "no end": (
        lambda: PreloadCustomSketchRule(is_product, lambda p, s, n: [[s, n]], "mine"),
        TuningError,
        "mine: there is no end after 1000 states",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    make, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        policy_of(make()).generate_sketches()
