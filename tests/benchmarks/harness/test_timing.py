"""Calls are timed in turns, and often enough. What they take is not tested."""

import time

import pytest
from benchmarks.harness.contention import probe_of
from benchmarks.harness.timing import batch, find_pace, interleave

from benchmarks.harness import contention, timing
from tilewright.runtime.peaks import multiply_add
from tilewright.target import Target

QUIET = timing.Sample(1.0, 1.0)


def test_a_batch_is_so_many_calls():
    calls = []
    sample = batch(lambda: calls.append(1), 7, 1)
    assert len(calls) == 7
    assert sample.wall > 0


def test_short_calls_are_repeated_until_a_batch_is_long_enough():
    pace = find_pace(lambda: None, 0.002)
    assert pace.number > 100
    assert find_pace(lambda: time.sleep(0.002), 0.001).number == 1


def test_both_sides_take_turns_and_each_goes_first_in_every_other_round(monkeypatch):
    order = []
    monkeypatch.setattr(timing, "batch", lambda call, number, threads: call() or QUIET)
    monkeypatch.setattr(timing, "find_pace", lambda call, seconds: timing.Pace(1, 1.0))
    samples = interleave([lambda: order.append("a"), lambda: order.append("b")], rounds=4)
    assert "".join(order) == "abbaabba"
    assert [len(side) for side in samples] == [4, 4]


def test_rounds_end_at_the_limit_but_not_before_the_least_number():
    slow = [lambda: time.sleep(0.002)] * 2
    assert len(interleave(slow, 50, batch_seconds=1e-4, limit=0.0, least=3)[0]) == 3
    assert 3 <= len(interleave(slow, 1000, batch_seconds=1e-4, limit=0.05)[1]) < 100


def sampled(monkeypatch, samples, rounds, threads):
    """What `interleave` returns of two calls whose samples are given in the order of the calls."""
    samples = iter(samples)
    monkeypatch.setattr(contention, "_least", {})
    monkeypatch.setattr(timing, "batch", lambda *_: next(samples))
    monkeypatch.setattr(timing, "find_pace", lambda call, seconds: timing.Pace(1, 1.0))
    return interleave([lambda: None, lambda: None], rounds, threads)


@pytest.mark.parametrize(("threads", "disturbed"), [
    (2, timing.Sample(9.0, 9.0, delay=0.5, probe=1.0)),
    (2, timing.Sample(9.0, 9.0, probe=2.0)),
    (1, timing.Sample(9.0, 9.0, probe=2.0)),
])  # fmt: skip
def test_disturbed_rounds_are_repeated_and_left_out(monkeypatch, threads, disturbed):
    quiet = timing.Sample(1.0, 1.0, probe=1.1), timing.Sample(1.0, 1.0, probe=1.0)
    rounds = [quiet, (disturbed, quiet[0]), (quiet[0], disturbed), *[quiet] * 5]
    samples = sampled(monkeypatch, [side for pair in rounds for side in pair], 6, threads)
    assert [len(side) for side in samples] == [6, 6]
    assert disturbed not in samples[0] + samples[1]


def test_disturbed_rounds_are_not_repeated_forever_and_stay_if_there_are_no_others(monkeypatch):
    waited = timing.Sample(1.0, 1.0, delay=0.5)
    assert len(sampled(monkeypatch, [waited] * 100, 2, threads=2)[0]) == 6
    # On one thread the time is that of the processor.
    assert len(sampled(monkeypatch, [waited] * 100, 2, threads=1)[0]) == 2
    # A core that is always shared has no quiet time to compare with.
    shared = timing.Sample(1.0, 1.0, probe=2.0)
    assert len(sampled(monkeypatch, [shared] * 100, 2, threads=1)[0]) == 2


def test_a_core_that_is_shared_all_the_time_is_seen_if_the_process_before_saw_it_alone(monkeypatch):
    monkeypatch.setenv(contention.VARIABLE, "1.0")
    shared = timing.Sample(1.0, 1.0, probe=2.0)
    assert len(sampled(monkeypatch, [shared] * 100, 2, threads=1)[0]) == 6
    assert timing.quiet_rounds([[shared]], 1) == []


def test_a_process_tells_the_next_one_the_least_time_it_saw(monkeypatch):
    monkeypatch.setattr(contention, "_least", {})
    monkeypatch.setattr(contention, "LOOKING", 0.01)
    monkeypatch.setenv(contention.VARIABLE, "1e-9")
    assert contention.environment(1) == {contention.VARIABLE: "1e-09"}
    monkeypatch.delenv(contention.VARIABLE)
    monkeypatch.setattr(contention, "_least", {})
    assert 0 <= float(contention.environment(1)[contention.VARIABLE]) < float("inf")


def test_a_thread_that_waits_for_the_processor_is_seen():
    assert timing.run_delay() >= 0
    assert timing.Sample(1.0, 1.0, 0.05).disturbed(2, 0.0)
    assert not timing.Sample(1.0, 1.0, 0.05).disturbed(1, 0.0)
    assert not timing.Sample(1.0, 1.0, 0.001).disturbed(2, 0.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_loop_of_arithmetic_takes_time_where_the_processor_has_the_instruction(threads):
    has_it = multiply_add("float32", Target("llvm")) is not None
    assert (probe_of(threads)() > 0) == has_it


def test_other_threads_are_waited_for_but_not_forever():
    start = time.perf_counter()
    timing.wait_for_other_threads(limit=0.01)
    assert time.perf_counter() - start < 5
