"""The tuner on simulated fleets of up to 256 workers."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.fleet.tuning import Conditions, simulate
from benchmarks.fleet.virtual_time import VirtualLoop

FEW = Conditions(tasks=4, trials=256, batch=16, search=0.0, start=1.0)


def test_more_workers_are_faster():
    seconds = [simulate(replace(FEW, workers=count)).seconds for count in (1, 4, 16)]
    assert seconds[0] / seconds[1] > 3
    assert seconds[1] / seconds[2] > 1.8


def test_256_workers_are_limited_by_the_search_in_one_process():
    many = replace(FEW, workers=256, tasks=2, trials=128)
    quick, slow = simulate(many), simulate(replace(many, search=2.0))
    searching = 2.0 * 128 / 16
    assert searching <= slow.seconds - slow.final_seconds < searching + 4
    assert quick.seconds - quick.final_seconds < searching / 2
    assert quick.trials == slow.trials == 128


def test_a_task_alone_is_limited_by_its_batches():
    alone = replace(FEW, workers=64, tasks=1, trials=128)
    small, large = simulate(alone), simulate(replace(alone, batch=32))
    assert small.seconds - small.final_seconds > 1.5 * (large.seconds - large.final_seconds)


def test_deaths_and_hangs_cost_time_and_nothing_else():
    safe = simulate(replace(FEW, workers=8))
    hard = simulate(replace(FEW, workers=8, deaths=0.05, hangs=0.01))
    assert hard.replaced >= 5
    assert (hard.trials, hard.failures) == (safe.trials, 0)
    assert hard.best == safe.best == [37] * 4


def test_stragglers_cost_little():
    plain, slowed = (simulate(replace(FEW, workers=8, stragglers=s)) for s in (0.0, 0.02))
    assert slowed.seconds < 1.5 * plain.seconds


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    sleep, calls = VirtualLoop.sleep, []

    def interrupted(loop, seconds):
        calls.append(seconds)
        sleep(loop, seconds)
        if calls.count(2.0) == 6:
            calls.append(2.0)
            raise KeyboardInterrupt

    monkeypatch.setattr(VirtualLoop, "sleep", interrupted)
    outcome = simulate(replace(FEW, workers=4, search=2.0))
    assert 0 < outcome.trials < 6 * 16
    assert outcome.failures == 0
    assert outcome.final_seconds < 1, "there are no finals"
