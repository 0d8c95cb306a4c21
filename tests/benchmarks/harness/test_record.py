"""What follows from samples."""

import json
import math

import pytest
from benchmarks.harness.record import Record, quartiles, ratios
from benchmarks.harness.timing import Sample


def record(ours, theirs, threads=1, **others):
    return Record(
        "family", "work", "hand", "numpy", threads,
        ours=[Sample(2 * s, s) for s in ours], theirs=[Sample(6 * s, s) for s in theirs], **others,
    )  # fmt: skip


def test_ratios_are_of_the_same_round():
    assert ratios([1.0, 2.0, 4.0], [2.0, 2.0, 2.0]) == [2.0, 1.0, 0.5]
    assert ratios([1.0], []) == []
    with pytest.raises(ValueError, match="argument"):
        ratios([1.0, 2.0], [1.0])


def test_quartiles():
    assert quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == (2.0, 4.0)
    assert quartiles([7.0]) == (7.0, 7.0)


def test_one_thread_is_compared_by_time_of_the_processor_and_more_by_the_clock():
    assert record([1.0, 2.0, 3.0], [2.0, 4.0, 3.0]).ratios == [2.0, 2.0, 1.0]
    assert record([1.0, 2.0, 3.0], [2.0, 4.0, 3.0], threads=2).ratios == [6.0, 6.0, 3.0]
    assert record([1.0, 2.0, 3.0], [2.0, 4.0, 3.0]).wall_ratios == [6.0, 6.0, 3.0]
    assert record([1.0], [2.0]).seconds == 1.0
    assert record([1.0], [2.0], threads=2).seconds == 2.0
    assert record([1.0], [2.0], threads=2).their_seconds == 12.0


def test_the_median_decides_about_the_aim():
    assert record([1, 1, 1], [1, 2, 3], aim=2.0).reached is True
    assert record([1, 1, 1], [1, 1.9, 3], aim=2.0).reached is False
    assert record([1], [1]).reached is None


def test_without_the_peer_nobody_knows_and_without_a_result_of_ours_the_aim_is_missed():
    assert record([1], [], aim=2.0).reached is None
    assert record([1], [], aim=2.0).ratio is None
    assert record([], [], aim=2.0).reached is False


def with_delays(*delays):
    samples = [Sample(1.0, 1.0, delay) for delay in delays]
    return Record("family", "work", "hand", "numpy", 2, ours=samples, theirs=samples, aim=1.0)


def test_a_record_of_too_few_quiet_rounds_says_so():
    assert not with_delays(0, 0, 0, 0, 0).disturbed
    assert not with_delays(0, 0).disturbed
    busy = with_delays(0.5, 0.5, 0.5, 0.5, 0, 0, 0)
    assert busy.disturbed
    assert busy.reached is None
    assert len(busy.ratios) == 7
    assert not Record("f", "w", "hand", "numpy", 1, ours=[Sample(1.0, 1.0, 0.5)]).disturbed


def test_records_survive_json():
    before = record([1.0, 2.0], [3.0, 4.0], aim=1.5, problem="none", error=1e-7, flop=8)
    entry = json.loads(json.dumps(before.as_dictionary()))
    assert Record.from_dictionary(entry) == before
    assert entry["derived"]["ratio"] == 2.5
    assert entry["derived"]["ratio_quartiles"] == [2.25, 2.75]
    assert math.isclose(entry["derived"]["wall_ratio"], 7.5)
