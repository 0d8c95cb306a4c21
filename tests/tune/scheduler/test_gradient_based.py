"""Trials go where they are likely to save the most time."""

from __future__ import annotations

import math

import pytest
from tests.tune.fakes import Count, PaperBuilder, PaperRunner, task

from tilewright.error import ArgumentValueError
from tilewright.tune.measure import RunnerFuture
from tilewright.tune.scheduler import GradientBased, TaskRecord
from tilewright.tune.scheduler.task_record import Progress


def record(history, weight=1.0):
    result = TaskRecord(task(), 0, weight)
    result.history = [Progress(trials, latency) for trials, latency in history]
    result.trials, result.latency = history[-1] if history else (0, math.inf)
    return result


def test_the_gain_of_a_task():
    scheduler = GradientBased(alpha=0.25, window_size=2)
    assert math.isinf(scheduler.gain(record([])))
    assert math.isinf(scheduler.gain(record([(8, math.inf)])))
    # Only the mean, while there is no window.
    assert scheduler.gain(record([(8, 4.0), (16, 4.0)])) == 0.75 * 4 / 16
    history = [(8, 4.0), (16, 3.0), (24, 2.4)]
    assert scheduler.gain(record(history)) == pytest.approx(0.25 * 1.6 / 16 + 0.75 * 2.4 / 24)
    assert scheduler.gain(record(history, 3.0)) == pytest.approx(
        3 * scheduler.gain(record(history))
    )
    # What became possible in the window says nothing about the gain.
    assert scheduler.gain(record([(8, math.inf), (16, 3.0), (24, 3.0)])) == 0.75 * 3 / 24


def test_each_task_gets_a_batch_and_the_slow_one_the_rest(tmp_path):
    tasks = [task(16), task(32), task(48)]
    latencies = {16: 1e-6, 32: 1e-3, 48: 1e-5}
    scheduler = GradientBased(seed=1)
    runner = PaperRunner()

    class ByTask(PaperRunner):
        def run(self, runner_inputs):
            (extent,) = runner_inputs[0].args_info[0].shape
            runner.latency = lambda factor: latencies[extent]
            return runner.run(runner_inputs)

    scheduler.tune(tasks, [1, 1, 1], 60, None, 4, PaperBuilder(tmp_path), ByTask())
    trials = [t.trials for t in scheduler.tasks]
    assert sum(trials) == 60
    assert trials[1] > 30
    assert min(trials) >= 4


def test_an_objective_says_what_counts():
    scheduler = GradientBased(alpha=0, objective=lambda seconds: max(seconds[0], 2 * seconds[1]))
    scheduler.tasks = [record([(8, 4.0)]), record([(8, 3.0)])]
    scheduler.tasks[1].task_id = 1
    first, second = scheduler.tasks
    assert scheduler.gain(first) == 0
    assert scheduler.gain(second) == pytest.approx(2 * 3 / 8)
    # Before all times are known, the weights count.
    scheduler.tasks = [first, second, record([(8, math.inf)])]
    assert scheduler.gain(first) == 4 / 8


def test_it_goes_on_with_others_when_a_task_is_done(tmp_path):
    tasks = [task(16, strategy=Count(3)), task(32, strategy=Count(10))]
    scheduler = GradientBased()
    scheduler.tune(tasks, [100, 1], 60, None, 4, PaperBuilder(tmp_path), PaperRunner())
    assert [t.trials for t in scheduler.tasks] == [3, 10]


def test_wrong_parameters():
    with pytest.raises(ArgumentValueError, match="alpha is from 0 to 1, got 2"):
        GradientBased(alpha=2)
    with pytest.raises(ArgumentValueError, match="window_size is at least 1"):
        GradientBased(window_size=0)


@pytest.mark.parametrize("limit", [{"per_task": 8}, {"patience": 4}])
def test_a_task_that_is_done_when_its_batch_is_joined(tmp_path, monkeypatch, limit):
    class Late(PaperRunner):
        def _future(self, item):
            future = super()._future(item)
            return RunnerFuture(lambda: False, future.result)

    monkeypatch.setattr("tilewright.tune.scheduler.measuring.core_count", lambda: 2)
    scheduler = GradientBased(seed=1)
    per_task = limit.pop("per_task", None)
    builder, runner = PaperBuilder(tmp_path), Late(lambda factor: 1.0)
    scheduler.tune([task(16), task(32)], [1, 1], 40, per_task, 4, builder, runner, **limit)
    assert [record.trials for record in scheduler.tasks] == [8, 8]
