"""Traces applied with many decisions give what each of them gives alone."""

import random

import pytest
from tests.tune.programs import matmul, scale_and_shift

import tilewright as tvm
from tilewright.schedule_rules.eligible import marked_as_scheduled
from tilewright.tir import Schedule, ScheduleError, Trace
from tilewright.tune.decision import choices, samplings
from tilewright.tune.replay import Replayer


def sketch(mod=matmul):
    sch = Schedule(mod, seed=1)
    block = sch.get_block("C")
    i, j, _ = sch.get_loops(block)
    i0, i1 = sch.split(i, sch.sample_perfect_tile(i, 2))
    j0, j1 = sch.split(j, sch.sample_perfect_tile(j, 2))
    sch.reorder(i0, j0, i1, j1)
    lanes = sch.sample_categorical([1, 2, 4], [1, 1, 1])
    sch.split(j1, [None, lanes])
    return sch


def test_choices_are_all_decisions():
    trace = sketch().trace
    replayer = Replayer(Schedule(matmul).mod)
    rows, columns, lanes = samplings(trace)
    found = [choices(replayer.before(trace, inst), inst) for inst in (rows, columns, lanes)]
    assert found[0] == [[1, 8], [2, 4], [4, 2], [8, 1]]
    assert len(found[1]) == 5
    assert found[2] == [0, 1, 2]


@pytest.mark.parametrize("capacity", [1, 3, 100])
@pytest.mark.parametrize("checked", [True, False])
def test_sharing_changes_nothing(capacity, checked):
    trace = sketch().trace
    sharing = Replayer(Schedule(matmul).mod, checked=checked, capacity=capacity)
    random.seed(3)
    for _ in range(30):
        other = trace
        for inst in samplings(trace):
            found = choices(Replayer(Schedule(matmul).mod).before(other, inst), inst)
            other = other.with_decision(inst, random.choice(found))
        alone = Schedule(marked_as_scheduled(Schedule(matmul).mod))
        other.apply_to_schedule(alone)
        shared = sharing.replay(other)
        tvm.ir.assert_structural_equal(shared.mod, alone.mod)
        assert str(shared.trace) == str(alone.trace)


def test_prefixes_are_applied_once(monkeypatch):
    trace = sketch().trace
    applied = []
    apply = Schedule.apply_instruction

    def counting(self, inst, decision=None):
        applied.append(inst.kind.name)
        apply(self, inst, decision)

    monkeypatch.setattr(Schedule, "apply_instruction", counting)
    replayer = Replayer(Schedule(matmul).mod)
    replayer.replay(trace)
    assert len(applied) == len(trace)
    last = samplings(trace)[-1]
    replayer.replay(trace.with_decision(last, (trace.get_decision(last) + 1) % 3))
    assert applied[len(trace) :] == ["sample_categorical", "split"]


def test_the_result_has_the_instructions_of_the_trace():
    trace = sketch().trace
    sch = Replayer(Schedule(matmul).mod).replay(trace)
    assert all(one is other for one, other in zip(sch.trace, trace, strict=True))


def test_impossible_and_missing_decisions_are_made_at_random():
    sch = Schedule(scale_and_shift, seed=1)
    block = sch.get_block("B")
    place = sch.sample_compute_location(block, decision=1)
    sch.compute_at(block, place)
    (inst,) = samplings(sch.trace)
    replayer = Replayer(Schedule(scale_and_shift).mod)
    missing = Trace(sch.trace.insts, {})
    found = {replayer.replay(missing, seed).trace.get_decision(inst) for seed in range(20)}
    assert found == {-1, -2, 0, 1}
    for seed in range(20):
        impossible = sch.trace.with_decision(inst, 7)
        assert replayer.replay(impossible, seed).trace.get_decision(inst) in found
    one, other = (replayer.replay(missing, 5) for _ in range(2))
    assert str(one.trace) == str(other.trace)


def test_refusals_are_raised():
    sch = Schedule(scale_and_shift, seed=1, enable_check=False)
    sch.fuse(*sch.get_loops("C"))
    other = Schedule(scale_and_shift)
    other.compute_inline("B")
    trace = Trace([*other.trace.insts, *sch.trace.insts], {})
    Replayer(Schedule(scale_and_shift).mod).replay(trace)
    twice = Trace([*sch.trace.insts, sch.trace.insts[-1]], {})
    with pytest.raises(ScheduleError):
        Replayer(Schedule(scale_and_shift).mod).replay(twice)
