"""Sampling: what is chosen, how often, and how decisions are kept and repaired."""

import math
from collections import Counter

import pytest

import tilewright as tvm
from tilewright.error import ArgumentValueError
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def loop_of(extent, seed=None):
    @T.prim_func
    def func(A: T.Buffer((extent,), "float32")):
        for i in range(extent):
            with T.block("a"):
                vi = T.axis.spatial(extent, i)
                A[vi] = T.float32(1)

    sch = Schedule(func, seed=seed)
    return sch, sch.get_loops("a")[0]


def ordered_factorizations(extent, parts):
    if parts == 1:
        return [(extent,)]
    return [
        (d, *rest)
        for d in range(1, extent + 1)
        if extent % d == 0
        for rest in ordered_factorizations(extent // d, parts - 1)
    ]


def numbers(sch, variables):
    return tuple(sch.get(v) for v in variables)


def drawn(sample, count):
    sch, loop = loop_of(24, seed=11)
    return Counter(numbers(sch, sample(sch, loop)) for _ in range(count))


def assert_uniform(found, expected):
    """No count is further from the mean than five standard deviations."""
    assert set(found) == set(expected)
    mean = sum(found.values()) / len(expected)
    assert all(abs(count - mean) < 5 * math.sqrt(mean) for count in found.values())


# --- categorical --------------------------------------------------------------------------------


def test_a_candidate_is_chosen_by_its_probability():
    sch, _ = loop_of(8, seed=3)
    found = Counter(
        sch.get(sch.sample_categorical([16, 32, 64], [0.25, 0.75, 0.0])) for _ in range(800)
    )
    assert set(found) == {16, 32}
    assert 520 < found[32] < 680


def test_the_decision_of_a_categorical_is_a_position_and_is_printed():
    sch, _ = loop_of(8)
    value = sch.sample_categorical([0, 16, 64], probs=[0.5, 0.25, 0.25], decision=2)
    assert sch.get(value) == 64
    assert sch.trace.as_python()[2:] == [
        "v2 = sch.sample_categorical(candidates=[0, 16, 64], probs=[0.5, 0.25, 0.25], decision=2)"
    ]


def test_the_candidate_0_at_position_0_is_replayed():
    sch, _ = loop_of(8)
    sch.sample_categorical([0, 16], probs=[0.5, 0.5], decision=0)
    for seed in range(5):
        again, _ = loop_of(8, seed=seed)
        sch.trace.apply_to_schedule(again)
        assert again.get(again.trace.insts[-1].outputs[0]) == 0


@pytest.mark.parametrize(
    ("candidates", "probs", "decision", "message"),
    [
        ([1, 2], [1.0], None, "2 candidates, but 1 probabilities"),
        ([], [], None, "not all zero"),
        ([1, 2], [0.0, 0.0], None, "not all zero"),
        ([1, 2], [-0.5, 1.5], None, "not negative"),
        ([1, 2], [math.nan, 0.5], None, "not negative"),
        ([1, 2], [0.5, 0.5], 2, "2 is not a position among 2"),
        ([1, 2], [0.5, 0.5], -1, "-1 is not a position among 2"),
        ([1, 2], [0.5, 0.5], "first", "position of a candidate, got 'first'"),
        ([1, 2], [0.5, 0.5], True, "position of a candidate, got True"),
    ],
)
def test_a_categorical_that_cannot_be_chosen_is_refused(candidates, probs, decision, message):
    sch, _ = loop_of(8)
    with pytest.raises(ArgumentValueError, match=message):
        sch.sample_categorical(candidates, probs, decision)


# --- perfect tiles ------------------------------------------------------------------------------


def test_perfect_tiles_are_chosen_uniformly():
    found = drawn(lambda sch, loop: sch.sample_perfect_tile(loop, 3, 6), 3000)
    expected = [f for f in ordered_factorizations(24, 3) if f[-1] <= 6]
    assert_uniform(found, expected)


def test_perfect_tiles_without_a_limit():
    found = drawn(lambda sch, loop: sch.sample_perfect_tile(loop, 2, -1), 1000)
    assert_uniform(found, ordered_factorizations(24, 2))


def test_a_perfect_tile_splits_a_loop_and_is_replayed():
    sch, loop = loop_of(1024)
    factors = sch.sample_perfect_tile(loop, n=2, max_innermost_factor=64, decision=[64, 16])
    sch.split(loop, factors=factors)
    assert sch.trace.as_python()[2:] == [
        "v2, v3 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=64, "
        "decision=[64, 16])",
        "l4, l5 = sch.split(loop=l1, factors=[v2, v3], preserve_unit_iters=True, "
        "disable_predication=False)",
    ]
    again, _ = loop_of(1024)
    sch.trace.apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


def test_what_was_chosen_is_the_decision():
    sch, loop = loop_of(360, seed=5)
    factors = numbers(sch, sch.sample_perfect_tile(loop, 4))
    assert math.prod(factors) == 360
    assert factors[-1] <= 16
    (decision,) = sch.trace.decisions.values()
    assert tuple(decision) == factors


def test_a_large_extent_is_factorized_at_once():
    sch, loop = loop_of(2**20 * 3**5, seed=1)
    factors = numbers(sch, sch.sample_perfect_tile(loop, 5, 64))
    assert math.prod(factors) == 2**20 * 3**5


@pytest.mark.parametrize(
    ("extent", "decision", "repaired"),
    [
        (1024, [64, 16], (64, 16)),
        (1024, [1, 16], (64, 16)),
        (100, [64, 16], (25, 4)),
        (7, [2, 2, 2], (7, 1, 1)),
        (24, [1, 8, 6], (1, 4, 6)),
        (5, [9], (5,)),
    ],
)
def test_a_decision_for_another_extent_is_repaired(extent, decision, repaired):
    sch, loop = loop_of(extent)
    factors = sch.sample_perfect_tile(loop, n=len(decision), decision=decision)
    assert numbers(sch, factors) == repaired
    (kept,) = sch.trace.decisions.values()
    assert tuple(kept) == repaired


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "`n` is from 1 to 1000, got 0"),
        ({"n": 2, "max_innermost_factor": 0}, "or -1 for no limit; got 0"),
        ({"n": 2, "decision": [24]}, "a list of 2 positive numbers"),
        ({"n": 2, "decision": [24, 0]}, "a list of 2 positive numbers"),
        ({"n": 2, "decision": 24}, "a list of 2 positive numbers"),
        ({"n": 2, "decision": [2.0, 12]}, "a list of 2 positive numbers"),
    ],
)
def test_a_perfect_tile_with_wrong_arguments_is_refused(arguments, message):
    sch, loop = loop_of(24)
    with pytest.raises(ArgumentValueError, match=message):
        sch.sample_perfect_tile(loop, **arguments)


def test_one_factor_beyond_the_limit_is_refused():
    sch, loop = loop_of(24)
    assert numbers(sch, sch.sample_perfect_tile(loop, 1, 24)) == (24,)
    with pytest.raises(ScheduleError, match="more than max_innermost_factor, 16"):
        sch.sample_perfect_tile(loop, 1)


@T.prim_func
def symbolic(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    for i in range(n):
        with T.block("a"):
            vi = T.axis.spatial(n, i)
            A[vi] = T.float32(1)


@pytest.mark.parametrize("name", ["sample_perfect_tile", "sample_partitioned_tile"])
def test_a_symbolic_extent_has_no_perfect_tile(name):
    sch = Schedule(symbolic)
    with pytest.raises(ScheduleError, match=r"the extent of loop `i` is symbolic"):
        getattr(sch, name)(sch.get_loops("a")[0], 2)


def test_a_loop_without_iterations_has_no_perfect_tile():
    sch, loop = loop_of(0)
    with pytest.raises(ScheduleError, match="loop `i` has no iterations"):
        sch.sample_perfect_tile(loop, 2)


# --- partitioned tiles --------------------------------------------------------------------------


def test_partitioned_tiles_are_chosen_uniformly():
    found = drawn(lambda sch, loop: sch.sample_partitioned_tile(loop, 3, 1, 4), 3000)
    expected = [f for f in ordered_factorizations(24, 3) if math.prod(f[1:]) % 4 == 0]
    assert_uniform(found, expected)


def test_a_partitioned_tile_without_a_partition_is_a_perfect_tile():
    found = drawn(lambda sch, loop: sch.sample_partitioned_tile(loop, 3), 3000)
    assert_uniform(found, ordered_factorizations(24, 3))


def test_a_partitioned_tile_with_an_empty_inner_part():
    found = drawn(lambda sch, loop: sch.sample_partitioned_tile(loop, 2, 2), 1000)
    assert_uniform(found, ordered_factorizations(24, 2))


@pytest.mark.parametrize(
    ("extent", "decision", "repaired"),
    [
        (24, [2, 3, 4], (2, 3, 4)),
        (24, [8, 3, 1], (2, 3, 4)),
        (20, [2, 3, 4], (5, 1, 4)),
        (12, [12, 1, 1], (3, 1, 4)),
    ],
)
def test_the_decision_of_a_partitioned_tile_is_repaired(extent, decision, repaired):
    sch, loop = loop_of(extent)
    factors = sch.sample_partitioned_tile(loop, 3, 1, 4, decision=decision)
    assert numbers(sch, factors) == repaired
    (kept,) = sch.trace.decisions.values()
    assert tuple(kept) == repaired


@pytest.mark.parametrize("arguments", [(0,), (2, 3), (2, -1), (2, 1, 0)])
def test_a_partitioned_tile_with_wrong_arguments_is_refused(arguments):
    sch, loop = loop_of(24)
    with pytest.raises(ArgumentValueError, match=r"`partition_pos` is from 0 to n|`n` is from 1"):
        sch.sample_partitioned_tile(loop, *arguments)


@pytest.mark.parametrize("arguments", [(2, 1, 5), (2, 2, 2)])
def test_an_inner_part_that_cannot_have_the_factor_is_refused(arguments):
    sch, loop = loop_of(24)
    with pytest.raises(ScheduleError, match="no inner factors of the extent of loop `i`, 24"):
        sch.sample_partitioned_tile(loop, *arguments)


# --- postprocessing -----------------------------------------------------------------------------


def test_what_follows_enter_postproc_can_be_left_out():
    sch, loop = loop_of(24)
    outer, _ = sch.split(loop, [4, 6])
    sch.enter_postproc()
    sch.split(outer, [2, 2])
    assert "  sch.enter_postproc()" in str(sch.trace).split("\n")
    assert len(sch.trace.as_python(remove_postproc=True)) == 3
    again, _ = loop_of(24)
    sch.trace.apply_to_schedule(again, remove_postproc=True)
    assert len(again.get_loops("a")) == 2
