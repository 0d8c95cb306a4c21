"""Steps of schedules that packages above define."""

import json
import sys
from types import ModuleType

import pytest

from tilewright import providers, tir
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError
from tilewright.ir.structural import assert_structural_equal
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError, Trace
from tilewright.tir.schedule import InstructionKind
from tilewright.tir.schedule.traces.instruction import step
from tilewright.tir.schedule.tree import Edit
from tilewright.tune.replay import Replayer, about, replayed


@T.prim_func
def copy(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8, 12), "float32")):
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


@pytest.fixture(scope="module")
def package():
    """A package ``sample`` whose step makes the outermost loop of a block parallel."""
    module = ModuleType("steps_of_sample")
    sys.modules[module.__name__] = module
    providers.provide({"steps of sample": module.__name__})

    @step("sample.parallel_above")
    def parallel_above(tree, func_name: str, names: list[str], options: dict) -> Edit:
        for realize in tree.blocks():
            if realize.block.name_hint in names and options["jobs"] > 1:
                loop = tree.loops_above(realize)[0]
                found = tree.edit({loop: loop.replace(kind=tir.ForKind.PARALLEL)})
                return Edit(found.func, loop)
        return Edit(tree.func)

    return module


def applied(func=copy, jobs=4):
    sch = Schedule(func)
    number = sch.sample_categorical([2, jobs], [0.5, 0.5], decision=1)
    arguments = {"func_name": "main", "names": ["B"], "options": {"jobs": number}}
    loop = sch.apply("sample.parallel_above", arguments)
    return sch, loop


def test_a_step_is_applied_and_returns_what_it_made(package):
    sch, loop = applied()
    assert sch.get(loop).kind is tir.ForKind.PARALLEL


def test_a_step_is_recorded_in_all_forms(package):
    sch, _ = applied()
    assert sch.trace.as_python() == [
        "v0 = sch.sample_categorical(candidates=[2, 4], probs=[0.5, 0.5], decision=1)",
        'l1 = sch.apply("sample.parallel_above", '
        '{"func_name": "main", "names": ["B"], "options": {"jobs": v0}})',
    ]
    names = {"tir": tir}
    exec(str(sch.trace), names)
    form = json.loads(json.dumps(sch.trace.as_json()))
    assert form[0][1][0] == "sample.parallel_above"
    for apply in (
        sch.trace.apply_to_schedule,
        names["apply_trace"],
        lambda other: Trace.apply_json_to_schedule(form, other),
    ):
        other = Schedule(copy)
        apply(other)
        assert_structural_equal(other.mod, sch.mod)
        assert str(other.trace) == str(sch.trace)


def test_the_tuner_replays_a_step_with_other_decisions(package):
    sch, _ = applied(jobs=1)
    replayer = Replayer(sch.mod)
    (sampling,) = sch.trace.decisions
    for decision, kind in enumerate([tir.ForKind.PARALLEL, tir.ForKind.SERIAL]):
        found = replayer.replay(sch.trace.with_decision(sampling, decision))
        (realize,) = [r for r in found.state.tree("main").blocks() if r.block.name_hint == "B"]
        assert found.state.tree("main").loops_above(realize)[0].kind is kind
    form = about(sch.trace.as_json(), "other")
    assert form[0][1][2][0] == "other"
    assert_structural_equal(replayed(sch.trace.as_json(), sch.mod).mod, sch.mod)


def test_what_a_step_makes_is_proved(package):
    @T.prim_func
    def total(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.reduce(8, i)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vi]

    with pytest.raises(ScheduleError, match=r"sample\.parallel_above: the iterations of loop `i`"):
        applied(total)


def test_arguments_that_are_missing_or_unknown(package):
    sch = Schedule(copy)
    with pytest.raises(ArgumentError, match=r"parallel_above: `names`: the argument is missing"):
        sch.apply("sample.parallel_above", {"func_name": "main", "options": {}})
    with pytest.raises(ArgumentError, match="get_block: `nome`: there is no such argument"):
        sch.apply("get_block", {"name": "B", "func_name": "main", "nome": "B"})


def test_a_step_that_nobody_registers(package):
    for name in ("sample.unknown", "unknown.step", "."):
        with pytest.raises(UnknownNameError, match="there is no schedule instruction"):
            InstructionKind.get(name)


# --- factors of a number ------------------------------------------------------------------------


def test_factors_of_a_number():
    sch = Schedule(copy, seed=1)
    factors = sch.sample_perfect_tile(36, n=2, max_innermost_factor=-1, decision=[4, 9])
    assert [sch.get(factor) for factor in factors] == [4, 9]
    assert sch.trace.as_python()[0] == (
        "v0, v1 = sch.sample_perfect_tile(loop=36, n=2, max_innermost_factor=-1, decision=[4, 9])"
    )


def test_factors_of_a_sampled_number_follow_it():
    sch = Schedule(copy, seed=1)
    outer = sch.sample_categorical([24, 6], [1, 1], decision=0)
    sch.sample_perfect_tile(outer * 2, n=2, decision=[4, 12])
    sch.sample_partitioned_tile(outer, n=2, decision=[3, 8])
    choice = sch.trace.insts[0]
    form = json.loads(json.dumps(sch.trace.as_json()))
    forms = [lambda s: Trace.apply_json_to_schedule(form, s), sch.trace.apply_to_schedule]
    for apply in forms:
        other = Schedule(copy)
        apply(other)
        assert str(other.trace) == str(sch.trace)
    changed = Replayer(sch.mod).replay(sch.trace.with_decision(choice, 1))
    assert list(changed.trace.decisions.values()) == [1, [1, 12], [3, 2]]


@pytest.mark.parametrize("number", [0, -4, 2**31, 2**70])
def test_numbers_without_factors(number):
    with pytest.raises(ScheduleError, match="from 1 to 2147483647"):
        Schedule(copy).sample_perfect_tile(number, n=2)


def test_what_is_no_number_and_no_loop():
    sch = Schedule(copy)
    with pytest.raises(ArgumentError, match="must be a LoopRV, an integer or an ExprRV, got 'i'"):
        sch.sample_perfect_tile("i", n=2)
    with pytest.raises(ArgumentValueError, match="`n` is from 1 to 1000"):
        sch.sample_perfect_tile(8, n=0)
