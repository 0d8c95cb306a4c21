"""sample_compute_location: where to compute a block."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright.error import ArgumentValueError
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def chain(A: T.Buffer((6, 5), "float32"), C: T.Buffer((6, 5), "float32")):
    B = T.alloc_buffer((6, 5))
    S = T.alloc_buffer((6,))
    for i, j in T.grid(6, 5):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(6, 5):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vj]
    for i, j in T.grid(6, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[vi] + A[vi, vj]


def decisions(block, count=60):
    found = set()
    for seed in range(1, count):
        sch = Schedule(chain, seed=seed, debug_mask="all")
        place = sch.sample_compute_location(block)
        found.add(sch.trace.get_decision(sch.trace.insts[-1]))
        sch.compute_at(block, place)
        if seed < 8:
            assert_same_meaning(chain, sch)
    return found


def test_all_places_that_are_right_are_chosen():
    assert decisions("B") == {-1, -2, 0, 1}


def test_a_reduction_is_not_inlined():
    assert decisions("S") == {-1, 0, 1}


def test_an_output_stays():
    assert decisions("C", 8) == {-1}
    assert decisions("root", 8) == {-1}


@pytest.mark.parametrize("decision", [-2, -1, 0, 1])
def test_a_decision_is_taken(decision):
    sch = Schedule(chain, debug_mask="all")
    place = sch.sample_compute_location("B", decision=decision)
    before = sch.mod["main"]
    sch.compute_at("B", place)
    assert_same_meaning(chain, sch)
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(sch.get_block("root"))]
    assert ("B" in names) == (decision != -2)
    if decision == -1:
        assert sch.mod["main"] is before
    if decision >= 0:
        assert sch.get(place).loop_var.name == "ij"[decision]
        assert sch.get(sch.get_loops("B")[0]) is sch.get(sch.get_loops("S")[0])


def test_a_consumer_goes_to_a_sampled_place():
    sch = Schedule(chain)
    place = sch.sample_compute_location("S", decision=-1)
    sch.reverse_compute_at("C", place)
    with pytest.raises(ScheduleError, match="block `S` is a reduction"):
        sch.reverse_compute_at("C", sch.sample_compute_location("S", decision=-2))


@pytest.mark.parametrize("decision", [-3, 2, 1.5, True])
def test_a_decision_that_is_no_place(decision):
    with pytest.raises(ArgumentValueError, match="decision"):
        Schedule(chain).sample_compute_location("B", decision=decision)


def test_a_place_is_no_loop():
    sch = Schedule(chain)
    place = sch.sample_compute_location("B", decision=-1)
    with pytest.raises(ScheduleError, match="`loop` stands for no loop, but for computing a block"):
        sch.split(place, [2, None])
    with pytest.raises(ScheduleError, match="stands for no loop"):
        sch.get_sref(place)
