"""How candidates are timed, with a clock that the tests make."""

import itertools
import random
import statistics

import pytest

from tilewright.tune.measure import timing
from tilewright.tune.measure.interleaving import measure_interleaved
from tilewright.tune.measure.timing import Plan, Reference, Sample, measure


class Machine:
    """Something on which time passes only when something runs."""

    def __init__(self):
        self.now = 0.0
        self.slowness = lambda now: 1.0

    def monotonic(self):
        return self.now


@pytest.fixture
def machine(monkeypatch):
    made = Machine()
    monkeypatch.setattr(timing.time, "monotonic", made.monotonic)
    return made


class Fake:
    """A function that takes so many seconds at the best."""

    is_flushed = False

    def __init__(self, machine, cost):
        self.machine, self.cost = machine, cost
        self.samples = []

    def sample(self, runs):
        seconds = self.cost * self.machine.slowness(self.machine.now)
        self.machine.now += runs * seconds
        self.samples.append(runs)
        return Sample(seconds, seconds)

    def seconds(self, sample):
        return sample.cpu


USUAL = {"number": 3, "repeat": 1, "min_repeat_ms": 100}


def test_a_repetition_takes_as_long_as_asked_for(machine):
    candidate = Fake(machine, 1e-3)
    times = measure(candidate, None, Plan(3, 2, 100))
    assert times.run_secs == pytest.approx([1e-3] * 2)
    assert 200 <= sum(candidate.samples) <= 210
    assert times.complete


def test_a_long_one_runs_as_often_as_asked_for(machine):
    candidate, reference = Fake(machine, 0.1), Fake(machine, 0.1)
    measure(candidate, Reference(reference, 0.1), Plan(**USUAL))
    assert sum(candidate.samples) == 4  # one to get warm
    assert sum(reference.samples) == 2
    assert machine.now == pytest.approx(0.6)


def test_a_short_one_takes_little_time_in_all(machine):
    candidate, reference = Fake(machine, 20e-6), Fake(machine, 20e-6)
    measure(candidate, Reference(reference, 20e-6), Plan(**USUAL))
    assert 0.1 < machine.now < 0.15
    assert sum(candidate.samples) * 20e-6 > 0.06


@pytest.mark.parametrize("cost", [2e-5, 1e-3, 0.02])
def test_a_machine_that_gets_slower_and_faster_makes_no_difference(machine, cost):
    drift = random.Random(1)
    machine.slowness = lambda now: 2.0 + (now % 2.0 > 1.0) + drift.uniform(-0.02, 0.02)
    reference = Reference(Fake(machine, 2 * cost), 5 * cost)
    plan = Plan(**USUAL)
    found = [measure(Fake(machine, cost), reference, plan).run_secs[0] for _ in range(15)]
    assert statistics.median(found) == pytest.approx(2.5 * cost, rel=0.02)


def test_one_that_is_hopeless_runs_once(machine):
    candidate, reference = Fake(machine, 0.1), Fake(machine, 0.01)
    times = measure(candidate, Reference(reference, 0.01), Plan(**USUAL, best=0.01))
    assert (candidate.samples, reference.samples) == ([1], [])
    assert times.run_secs == [0.1]
    assert not times.complete


def test_one_that_is_clearly_slower_is_not_measured_to_the_end(machine):
    candidate, reference = Fake(machine, 0.015), Fake(machine, 0.01)
    times = measure(candidate, Reference(reference, 0.01), Plan(**USUAL, best=0.01))
    assert sum(candidate.samples) == 4
    assert times.run_secs == pytest.approx([0.015])
    assert not times.complete
    candidate, reference = Fake(machine, 0.15), Fake(machine, 0.1)
    times = measure(candidate, Reference(reference, 0.1), Plan(**USUAL, best=0.1))
    assert sum(candidate.samples) == 2
    assert not times.complete


@pytest.mark.parametrize("disturbed", [0, 1, 2, 5])
def test_one_disturbance_is_no_reason_to_give_up(machine, disturbed):
    candidate, reference = Fake(machine, 0.01), Fake(machine, 0.01)
    undisturbed = candidate.sample

    def sample(runs):
        candidate.cost = 0.03 if len(candidate.samples) == disturbed else 0.01
        return undisturbed(runs)

    candidate.sample = sample
    times = measure(candidate, Reference(reference, 0.01), Plan(**USUAL, best=0.01))
    assert times.complete
    assert times.run_secs == pytest.approx([0.01])


def test_one_that_is_about_as_fast_is_measured_to_the_end(machine):
    candidate, reference = Fake(machine, 0.0105), Fake(machine, 0.01)
    times = measure(candidate, Reference(reference, 0.01), Plan(**USUAL, best=0.01))
    assert times.complete
    assert sum(candidate.samples) >= 7


def test_there_is_a_result_when_time_is_over(machine):
    candidate = Fake(machine, 3.0)
    times = measure(candidate, None, Plan(**USUAL, seconds=2.0))
    assert times.run_secs == [3.0]
    candidate = Fake(machine, 0.9)
    times = measure(candidate, None, Plan(**USUAL, seconds=2.0))
    assert times.run_secs == [0.9]
    assert sum(candidate.samples) == 3


def test_flushed_runs_are_counted_one_by_one(machine):
    candidate = Fake(machine, 1e-6)
    candidate.is_flushed = True
    measure(candidate, None, Plan(**USUAL))
    assert candidate.samples == [1] * 4


def test_turns_find_the_fastest_while_the_machine_changes(machine):
    noise, ticks = random.Random(2), itertools.count()
    machine.slowness = lambda now: (1.0 + next(ticks) // 12 % 3) * noise.uniform(0.98, 1.02)
    costs = [0.02, 0.0194, 0.0206]
    candidates = [Fake(machine, cost) for cost in costs]
    reference = Reference(Fake(machine, 0.02), 0.04)
    times = measure_interleaved(candidates, reference, seconds=100.0)
    found = [t.run_secs[0] for t in times]
    assert sorted(range(3), key=found.__getitem__) == [1, 0, 2]
    assert found == pytest.approx([2 * cost for cost in costs], rel=0.02)


def test_turns_end_when_time_is_over(machine):
    candidates = [Fake(machine, 1.0), Fake(machine, 1.1)]
    measure_interleaved(candidates, None, seconds=1.0)
    assert sum(candidates[0].samples) == 5  # two to get warm, and the fewest rounds
