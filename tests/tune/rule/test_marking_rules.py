"""Rules that say what is decided later."""

import pytest
from tests.schedule_rules.programs import conv2d, elementwise, matmul, softmax
from tests.tune.rule.sketching import (
    FOUR_CORES,
    ONE_CORE,
    assert_candidates_right,
    sketches_of,
)

from tilewright.error import ArgumentValueError
from tilewright.tune.rule import ParallelizeVectorizeUnroll, RandomComputeLocation
from tilewright.tune.rule.nest_rule import TileProduct


def annotations_of(func, rule, target=FOUR_CORES):
    (sch,) = sketches_of(func, [rule], target)
    return {key: int(value) for key, value in sch.get(sch.get_block("root")).annotations.items()}


def test_the_root_block_says_what_may_be_done():
    rule = ParallelizeVectorizeUnroll(16, 64, [0, 16, 64, 512], True)
    assert annotations_of(matmul(4, 4, 4), rule) == {
        "meta_schedule.parallel": 64,
        "meta_schedule.vectorize": 64,
        "meta_schedule.unroll_explicit": 64,
    }
    assert annotations_of(elementwise(4, 4), rule) == {
        "meta_schedule.parallel": 64,
        "meta_schedule.vectorize": 64,
    }
    assert "meta_schedule.parallel" not in annotations_of(matmul(4, 4, 4), rule, ONE_CORE)


def test_nothing_is_left_to_unroll_where_rules_have_claimed_all_reductions():
    rules = [TileProduct(), ParallelizeVectorizeUnroll(16, 64, [0, 16, 64, 512], True)]
    for sch in sketches_of(matmul(8, 8, 8), rules):
        assert "meta_schedule.unroll_explicit" not in sch.get(sch.get_block("root")).annotations


def test_what_is_not_wanted_is_not_said():
    assert annotations_of(matmul(4, 4, 4), ParallelizeVectorizeUnroll(-1, -1)) == {}
    rule = ParallelizeVectorizeUnroll(-1, 8, [16], unroll_explicit=False)
    assert annotations_of(matmul(4, 4, 4), rule) == {
        "meta_schedule.vectorize": 8,
        "meta_schedule.unroll_implicit": 16,
    }
    with pytest.raises(ArgumentValueError, match="max_jobs_per_core is at least 1, or -1"):
        ParallelizeVectorizeUnroll(0)


def test_a_producer_gets_a_place():
    (sch,) = sketches_of(conv2d(2, 4, 2, 3, 1), [RandomComputeLocation()])
    kinds = [inst.kind.name for inst in sch.trace.simplified()]
    assert kinds.count("sample_compute_location") == 1
    assert len(sch.get_loops("P")) == 4


def test_the_loops_of_claimed_blocks_get_no_producers():
    for sch in sketches_of(conv2d(2, 4, 2, 3, 1), [TileProduct(), RandomComputeLocation()]):
        claimed = any(inst.kind.name == "annotate" for inst in sch.trace)
        places = [i for i in sch.trace if i.kind.name == "sample_compute_location"]
        assert not (claimed and places)


def test_candidates_compute_the_same():
    assert_candidates_right(conv2d(2, 3, 2, 3, 1), [RandomComputeLocation()], tries=6)
    assert_candidates_right(softmax(3, 4), [RandomComputeLocation()], tries=6)
