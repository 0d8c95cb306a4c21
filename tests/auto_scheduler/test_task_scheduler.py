"""Many tasks at once."""

import math

import pytest
from tests.auto_scheduler.programs import matmul_task, quick_options

from tilewright import auto_scheduler
from tilewright.auto_scheduler import (
    LogEstimatedLatency,
    PrintTableInfo,
    SketchPolicy,
    TaskScheduler,
    TaskSchedulerCallback,
    XGBModel,
)
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.tune.scheduler import GradientBased, RoundRobin


class Events(TaskSchedulerCallback):
    """What was told, in order."""

    def __init__(self):
        self.seen = []

    def pre_tune(self, task_scheduler, task_id):
        self.seen.append(("pre", task_id))

    def post_tune(self, task_scheduler, task_id):
        self.seen.append(("post", task_id))


def test_tasks_share_trials_and_callbacks_see_it(tmp_path, capsys):
    log, latencies = tmp_path / "log.json", tmp_path / "latency.tsv"
    tasks = [matmul_task(16, desc="small one"), matmul_task(32)]
    events = Events()
    scheduler = TaskScheduler(
        tasks,
        task_weights=[3, 1],
        strategy="round-robin",
        callbacks=[PrintTableInfo(), LogEstimatedLatency(latencies), events],
    )
    scheduler.tune(quick_options(log, 4))
    assert scheduler.ct == sum(scheduler.task_cts) == 4
    assert min(scheduler.task_cts) >= 1
    first, second = scheduler.best_costs
    assert scheduler.cur_score == pytest.approx(3 * first + second)
    assert {event for event, _ in events.seen} == {"pre", "post"}
    assert {task for _, task in events.seen} == {0, 1}
    lines = latencies.read_text().splitlines()
    assert len(lines) == sum(event == "post" for event, _ in events.seen)
    assert lines[-1].startswith("ElapsedTime(s)\t")
    assert lines[-1].endswith("\tTrials\t4")
    printed = capsys.readouterr().out
    assert printed.count("Total trials: ") == printed.count("small one") == len(lines)
    for task, seconds in zip(tasks, scheduler.best_costs, strict=True):
        _, result = auto_scheduler.load_best_record(log, task.workload_key)
        assert math.isclose(sum(result.costs) / len(result.costs), seconds)
        assert task.apply_best(log)


def test_it_goes_on_from_a_log(tmp_path):
    log = tmp_path / "log.json"
    task = matmul_task(32)
    TaskScheduler([task]).tune(quick_options(log, 2))
    before = {str(inp.record.trace_json) for inp, _ in auto_scheduler.load_records(log)}
    again = TaskScheduler([task], load_log_file=log)
    again.tune(quick_options(log, 1), search_policy="sketch.random")
    after = {str(inp.record.trace_json) for inp, _ in auto_scheduler.load_records(log)}
    assert len(after) == len(before) + 1


def test_policies_and_objectives_reach_the_tuner():
    tasks = [matmul_task(16), matmul_task(32)]
    scheduler = TaskScheduler(tasks, objective_func=max, alpha=0.5, backward_window_size=2)
    chosen = scheduler._scheduler()
    assert isinstance(chosen, GradientBased)
    assert (chosen.alpha, chosen.window_size, chosen.objective) == (0.5, 2, max)
    assert isinstance(TaskScheduler(tasks, strategy="round-robin")._scheduler(), RoundRobin)
    policies = scheduler._policies("default", {"eps_greedy": 0.25}, False, 0)
    assert [policy.task for policy in policies] == tasks
    assert policies[0].cost_model is policies[1].cost_model
    assert isinstance(policies[0].cost_model, XGBModel)
    assert policies[1].context.search_strategy.eps_greedy == 0.25
    own = [SketchPolicy(task) for task in tasks]
    assert scheduler._policies(own, None, False, 0) == own


def test_mistakes():
    task = matmul_task(16)
    with pytest.raises(ArgumentError, match="expected a list of SearchTasks"):
        TaskScheduler([])
    with pytest.raises(ArgumentError, match="expected a list of SearchTasks"):
        TaskScheduler([3])
    with pytest.raises(ArgumentError, match="1 tasks, but 2 task_weights"):
        TaskScheduler([task], [1, 2])
    with pytest.raises(ArgumentValueError, match="strategy is 'gradient' or 'round-robin'"):
        TaskScheduler([task], strategy="best")
    scheduler = TaskScheduler([task])
    with pytest.raises(ArgumentValueError, match='search_policy is "default"'):
        scheduler.tune(quick_options(), search_policy="sketch.best")
    with pytest.raises(ArgumentError, match="one policy for each task"):
        scheduler.tune(quick_options(), search_policy=[SketchPolicy(matmul_task(16))])
