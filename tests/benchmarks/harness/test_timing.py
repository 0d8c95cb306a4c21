"""Calls are timed in turns, and often enough. What they take is not tested."""

import time

from benchmarks.harness.timing import batch, find_pace, interleave

from benchmarks.harness import timing


def test_a_batch_is_so_many_calls():
    calls = []
    sample = batch(lambda: calls.append(1), 7, time.thread_time_ns)
    assert len(calls) == 7
    assert sample.wall > 0


def test_short_calls_are_repeated_until_a_batch_is_long_enough():
    pace = find_pace(lambda: None, 0.002)
    assert pace.number > 100
    assert find_pace(lambda: time.sleep(0.002), 0.001).number == 1


def test_both_sides_take_turns_and_each_goes_first_in_every_other_round(monkeypatch):
    order = []
    monkeypatch.setattr(timing, "batch", lambda call, number, clock: call())
    monkeypatch.setattr(timing, "find_pace", lambda call, seconds: timing.Pace(1, 1.0))
    samples = interleave([lambda: order.append("a"), lambda: order.append("b")], rounds=4)
    assert "".join(order) == "abbaabba"
    assert [len(side) for side in samples] == [4, 4]


def test_rounds_end_at_the_limit_but_not_before_the_least_number():
    slow = [lambda: time.sleep(0.002)] * 2
    assert len(interleave(slow, 50, batch_seconds=1e-4, limit=0.0, least=3)[0]) == 3
    assert 3 <= len(interleave(slow, 1000, batch_seconds=1e-4, limit=0.05)[1]) < 100


def test_disturbed_rounds_are_repeated_but_not_forever(monkeypatch):
    delays = iter([0.5, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    monkeypatch.setattr(timing, "batch", lambda *_: timing.Sample(1.0, 1.0, next(delays)))
    monkeypatch.setattr(timing, "find_pace", lambda call, seconds: timing.Pace(1, 1.0))
    calls = [lambda: None, lambda: None]
    assert len(interleave(calls, rounds=2, threads=2)[0]) == 4
    monkeypatch.setattr(timing, "batch", lambda *_: timing.Sample(1.0, 1.0, 0.5))
    assert len(interleave(calls, rounds=2, threads=2)[0]) == 6
    assert len(interleave(calls, rounds=2, threads=1)[0]) == 2


def test_a_thread_that_waits_for_the_processor_is_seen():
    assert timing.run_delay() >= 0
    assert timing.Sample(1.0, 1.0, 0.05).disturbed
    assert not timing.Sample(1.0, 1.0, 0.001).disturbed


def test_other_threads_are_waited_for_but_not_forever():
    start = time.perf_counter()
    timing.wait_for_other_threads(limit=0.01)
    assert time.perf_counter() - start < 5
