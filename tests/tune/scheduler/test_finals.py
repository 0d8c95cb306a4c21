"""The default schedule against the fastest candidates, and the time that all of it may take."""

import itertools
from pathlib import Path

import pytest
from tests.tune.fakes import CountFromDefault, PaperBuilder, PaperRunner, factor_of, task

from tilewright.tune.callback import MeasureCallback
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.scheduler import GradientBased


def default_task(n=64, available=12):
    return task(n, name=str(n), strategy=CountFromDefault(available))


def tune(tmp_path, tasks, runner, trials=12, weights=None, database=None, **options):
    database = database or MemoryDatabase()
    scheduler = GradientBased(seed=1)
    scheduler.tune(
        tasks, weights or [1.0] * len(tasks), trials, None, 4, PaperBuilder(tmp_path), runner,
        MeasureCallback.create(), database, **options,
    )  # fmt: skip
    return scheduler, database


def factor_of_file(item):
    return int(Path(item.artifact_path).read_text())


def best_factor(database, context):
    record = database.query_tuning_record(context.mod, context.target)
    return factor_of(record.as_measure_candidate()), record.is_default


def test_the_default_is_the_best_if_all_others_are_slower(tmp_path):
    context = default_task()
    _, database = tune(tmp_path, [context], PaperRunner(lambda factor: float(factor)))
    assert best_factor(database, context) == (1, True)


@pytest.mark.parametrize("rounds", [4, 12])
def test_the_default_is_the_best_if_others_are_faster_by_noise_only(tmp_path, rounds):
    context = default_task(available=rounds)
    runner = PaperRunner(lambda factor: 1.0 if factor == 1 else 0.99 - 1e-4 * factor)
    scheduler, database = tune(tmp_path, [context], runner)
    assert runner.again[0][0] == 1, "the default takes part in the first round"
    assert best_factor(database, context) == (1, True)
    assert scheduler.tasks[0].fastest[0][1].is_default
    assert scheduler.tasks[0].latency == 1.0


def test_what_was_lucky_once_loses_to_the_default(tmp_path):
    context = default_task()
    runner = PaperRunner()
    runner.latency = lambda factor: 1.0 if factor == 1 else (1.1 if runner.again else 0.6)
    _, database = tune(tmp_path, [context], runner)
    assert best_factor(database, context) == (1, True)


def test_the_default_of_an_earlier_run_takes_part(tmp_path):
    first = default_task(available=2)
    _, database = tune(tmp_path, [first], PaperRunner(lambda factor: float(factor)))
    second = default_task(available=6)
    log = []
    runner = PaperRunner(lambda factor: 1.0 if factor == 1 else 0.99, log=log)
    tune(tmp_path, [second], runner, database=database)
    assert 1 not in [factor for _, factor in log[:4]], "it is known"
    assert runner.again[0][0] == 1
    assert best_factor(database, second) == (1, True)


def test_what_is_clearly_faster_wins(tmp_path):
    context = default_task()
    runner = PaperRunner(lambda factor: 1.0 if factor != 5 else 0.9)
    _, database = tune(tmp_path, [context], runner)
    assert best_factor(database, context) == (5, False)


def test_a_default_that_is_wrong_does_not_win(tmp_path):
    context = default_task()
    runner = PaperRunner(lambda factor: float(factor), wrong={1})
    _, database = tune(tmp_path, [context], runner)
    assert best_factor(database, context) == (2, False)


def test_each_task_gets_its_default_before_any_gets_more(tmp_path, monkeypatch):
    clock = itertools.count()
    for module in ("budget", "measuring", "finalists"):
        monkeypatch.setattr(
            f"tilewright.tune.scheduler.{module}.time.monotonic", lambda: next(clock) * 0.25
        )
    tasks = [default_task(n, available=1000) for n in (16, 32, 48, 64)]
    log = []
    runner = PaperRunner(lambda factor: float(factor), log=log)
    scheduler, database = tune(tmp_path, tasks, runner, trials=10_000, max_seconds=60)
    assert [factor for _, factor in log[:4]] == [1] * 4
    assert len(log) > 8
    for context in tasks:
        assert best_factor(database, context) == (1, True)
    assert scheduler.budget.seconds < 63


def test_time_that_finals_leave_is_spent_on_trials(tmp_path, monkeypatch):
    """Finals are expected to take 8 s each, and take no time here."""
    now = [0.0]

    class Slow(PaperRunner):
        def run(self, runner_inputs):
            now[0] += 0.5 * len(runner_inputs)
            return super().run(runner_inputs)

        def remeasure(self, runner_inputs):
            self.again.append(len(runner_inputs))
            return [self._result(factor_of_file(item)) for item in runner_inputs]

    monkeypatch.setattr("tilewright.tune.scheduler.budget.time.monotonic", lambda: now[0])
    runner = Slow()
    scheduler, _ = tune(
        tmp_path, [default_task(available=1000)], runner, trials=1000, max_seconds=40
    )
    assert 38 <= now[0] <= 42
    assert scheduler.tasks[0].trials > 70
    assert len(runner.again) > 1, "there was a final, and another one after more trials"


def test_after_that_most_trials_go_where_most_time_goes(tmp_path):
    tasks = [default_task(n, available=1000) for n in (16, 32, 48)]
    runner = PaperRunner(lambda factor: float(factor))
    scheduler, _ = tune(tmp_path, tasks, runner, trials=200, weights=[1.0, 50.0, 1.0])
    first, heavy, last = (record.trials for record in scheduler.tasks)
    assert heavy > 2 * (first + last)


def test_unmeasured_leads_over_the_default_must_be_clear(tmp_path, monkeypatch):
    """Where there is no time for a final."""
    monkeypatch.setattr("tilewright.tune.scheduler.finalists._Final._places", lambda *_: 0)
    for lead, expected in ((0.97, (1, True)), (0.9, (3, False))):
        context = default_task()
        runner = PaperRunner(lambda factor, lead=lead: lead if factor == 3 else float(factor))
        _, database = tune(tmp_path, [context], runner)
        assert best_factor(database, context) == expected
        assert not runner.again
