"""The loop that spends trials, whatever the order of the tasks."""

from __future__ import annotations

import math

import pytest
from tests.tune.fakes import Count, PaperBuilder, PaperRunner, factor_of, task

from tilewright.error import ArgumentError, ArgumentValueError, TuningError, UnknownNameError
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import JSONDatabase, MemoryDatabase
from tilewright.tune.measure import RunnerFuture, RunnerResult
from tilewright.tune.scheduler import GradientBased, RoundRobin, TaskScheduler
from tilewright.tune.workload import ModuleEquality


@pytest.fixture
def tune(tmp_path):
    """Tune with fake parts; returns the scheduler."""

    def run(tasks, trials=8, per_iter=4, scheduler=None, **given):
        given.setdefault("builder", PaperBuilder(tmp_path))
        given.setdefault("runner", PaperRunner())
        given.setdefault("measure_callbacks", MeasureCallback.create())
        given.setdefault("database", MemoryDatabase())
        scheduler = scheduler or RoundRobin()
        scheduler.tune(
            tasks, given.pop("weights", [1.0] * len(tasks)), trials,
            given.pop("per_task", None), per_iter, **given,
        )  # fmt: skip
        return scheduler

    return run


def factors(records):
    return [factor_of(record.as_measure_candidate()) for record in records]


def test_the_budget_is_spent_and_every_trial_is_recorded(tune, tmp_path):
    context, database = task(), MemoryDatabase()
    scheduler = tune([context], trials=10, database=database)
    strategy = context.search_strategy
    assert [factor for factor, _ in strategy.seen] == list(range(1, 11))
    assert strategy.began == (10, 4)
    assert strategy.ended
    record = scheduler.tasks[0]
    assert (record.trials, record.latency, record.is_terminated) == (10, 0.1, True)
    assert record.flop == 128
    assert record.gflops == pytest.approx(128 / 0.1 / 1e9)
    best = database.query_tuning_record(context.mod, "llvm -num-cores=1")
    assert factors([best]) == [10]
    assert not list(tmp_path.iterdir()), "artifacts are removed"
    assert scheduler.tasks_ is scheduler.tasks
    assert scheduler.database_ is database
    assert scheduler.remaining_tasks_ == 0
    assert scheduler.cost_model_ is None
    assert len(scheduler.measure_callbacks_) == 3


def test_few_trials_are_spent_in_several_batches(tune):
    context = task()
    tune([context], trials=64, per_iter=64)
    assert context.search_strategy.began == (64, 16)
    many = [task(n) for n in (16, 32, 48, 64)]
    tune(many, trials=20, per_iter=64)
    assert [c.search_strategy.began[1] for c in many] == [5] * 4
    assert [len(c.search_strategy.seen) for c in many] == [5] * 4


def test_limits_of_each_task(tune):
    tasks = [task(16), task(32, strategy=Count(3))]
    scheduler = tune(tasks, trials=100, per_task=6)
    assert [record.trials for record in scheduler.tasks] == [6, 3]


def test_a_task_ends_when_it_no_longer_improves(tune):
    context = task()
    runner = PaperRunner(lambda factor: 1.0 / min(factor, 5))
    scheduler = tune([context], trials=100, runner=runner, patience=8)
    # The best is the fifth; the batches of 4 end after the 8th, 12th and 16th.
    assert scheduler.tasks[0].trials == 16


def test_time_ends_a_run(tune, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr("tilewright.tune.scheduler.budget.time.monotonic", lambda: next(clock))
    scheduler = tune([task()], trials=1000, per_iter=16, max_seconds=60)
    assert 0 < scheduler.tasks[0].trials < 100
    assert scheduler.tasks[0].failures.total == 0


def test_candidates_run_as_soon_as_they_are_built_where_cores_are_free(tune, tmp_path, monkeypatch):
    monkeypatch.setattr("tilewright.tune.scheduler.measuring.core_count", lambda: 2)
    for cores, expected in ((1, "build run build run"), (2, "build build run run")):
        log = []
        tune(
            [task(target=f"llvm -num-cores={cores}")],
            trials=2,
            builder=PaperBuilder(tmp_path, log=log),
            runner=PaperRunner(log=log),
            measure_callbacks=[],
        )
        assert " ".join(what for what, _ in log[:4]) == expected


def test_what_becomes_the_best_is_checked(tune):
    database, context = MemoryDatabase(), task()
    runner = PaperRunner(wrong={4, 8, 7})
    scheduler = tune([context], trials=8, runner=runner, database=database)
    assert runner.checked[:2] == [4, 3]
    assert runner.checked[2:5] == [8, 7, 6]
    assert len(set(runner.expected)) == 1
    assert scheduler.tasks[0].latency == 1 / 6
    assert scheduler.tasks[0].failures.counts == {"wrong-result": 3}
    wrong = [r for r in database.get_all_tuning_records() if r.error_kind == "wrong-result"]
    assert sorted(factors(wrong)) == [4, 7, 8]
    assert "differs for 8" in {factor_of(r.as_measure_candidate()): r for r in wrong}[8].error


def test_the_fastest_are_measured_again(tune):
    latencies = {1: 1.0, 2: 0.5, 3: 0.51, 4: 0.52, 5: 0.9, 6: 0.55}
    runner = PaperRunner()
    # The second candidate was lucky, and the third is the best of those measured in turns.
    runner.latency = lambda factor: 0.6 if runner.again and factor == 2 else latencies[factor]
    context, database = task(strategy=Count(6)), MemoryDatabase()
    scheduler = tune([context], runner=runner, database=database)
    assert runner.again == [[2, 3, 4, 6]]
    assert scheduler.tasks[0].latency == 0.51
    best = database.query_tuning_record(context.mod, "llvm -num-cores=1")
    assert factors([best]) == [3]


def test_what_could_not_be_checked_in_time_is_checked_at_the_end(tune):
    runner = PaperRunner(wrong={8, 7})
    runner.is_ready = False
    database, context = MemoryDatabase(), task()
    scheduler = tune([context], runner=runner, database=database)
    assert runner.checked == [8, 7, 6]
    assert scheduler.tasks[0].latency == 1 / 6
    best = database.query_tuning_record(context.mod, "llvm -num-cores=1")
    assert factors([best]) == [6]


def test_the_best_is_checked_even_if_it_needs_no_final(tune):
    runner = PaperRunner(lambda factor: 10.0**-factor, wrong={8, 7, 6, 5})
    runner.is_ready = False
    scheduler = tune([task()], runner=runner)
    assert runner.again == [[8], [7], [6], [5], [4]]
    assert runner.checked == [8, 7, 6, 5, 4]
    assert scheduler.tasks[0].latency == 1e-4


def test_all_candidates_turn_out_to_be_wrong(tune):
    runner = PaperRunner(wrong=range(100))
    runner.is_ready = False
    with pytest.raises(TuningError, match=r"4 x wrong-result, for example:\n +C.0. differs for 4"):
        tune([task(strategy=Count(4))], runner=runner)


def test_the_final_goes_on_while_others_seem_faster(tune):
    runner = PaperRunner()
    runner.latency = lambda factor: 1.0 + factor / 1000 + (0.5 if runner.again else 0.0)
    tune([task(strategy=Count(12))], trials=12, runner=runner)
    assert runner.again == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12]]


def test_failures_are_counted_by_reason(tune, tmp_path):
    scheduler = tune(
        [task()],
        builder=PaperBuilder(tmp_path, fails=lambda factor: factor % 4 == 0),
        runner=PaperRunner(lambda factor: "no" if factor % 4 == 1 else 1.0 / factor),
    )
    assert scheduler.tasks[0].failures.counts == {"build": 2, "run": 2}
    assert str(scheduler.tasks[0].failures) == "2 build, 2 run"


def test_all_candidates_fail(tune, tmp_path):
    builder = PaperBuilder(tmp_path, fails=lambda factor: factor != 3)
    with pytest.raises(TuningError) as error:
        tune([task()], trials=100, builder=builder, runner=PaperRunner(lambda factor: "bad\nline"))
    text = str(error.value)
    # It gives up after two batches.
    assert "all 8 candidates of task #0 'main' failed" in text
    assert "7 x build, for example:\n    cannot build 1" in text
    assert "1 x run, for example:\n    bad\n    line" in text


def test_there_is_no_candidate_at_all(tune):
    class Refused(Count):
        refusals = {"compute_at": 2, "RewriteLayout": 7}  # noqa: RUF012

    with pytest.raises(TuningError) as error:
        tune([task(strategy=Refused(0))])
    assert str(error.value) == (
        "task #0 'main' has no candidate; refused were 7 by RewriteLayout, 2 by compute_at"
    )


def test_a_task_that_fails_beside_others_is_no_error(tune, tmp_path):
    builder = PaperBuilder(tmp_path)
    runner = PaperRunner(lambda factor: 1.0 if factor > 20 else "bad")

    class From20(Count):
        def __init__(self):
            super().__init__()
            self.next = 21

    scheduler = tune([task(16), task(32, strategy=From20())], 16, builder=builder, runner=runner)
    assert [record.is_measured for record in scheduler.tasks] == [False, True]


class Interrupting(PaperRunner):
    """The user presses Ctrl-C while the result of a candidate is waited for."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def _future(self, item):
        future = super()._future(item)
        factor = self.log[-1][1]

        def result():
            if factor >= self.at:
                raise KeyboardInterrupt
            return future.result()

        return RunnerFuture(lambda: factor < self.at, result)


def test_an_interrupt_keeps_what_was_measured(tune):
    database, context = MemoryDatabase(), task()
    scheduler = tune([context], trials=100, runner=Interrupting(7), database=database)
    assert scheduler.was_interrupted
    assert sorted(factors(database.get_all_tuning_records())) == [1, 2, 3, 4, 5, 6]
    assert scheduler.tasks[0].trials == 6
    assert scheduler.tasks[0].failures.total == 0
    assert context.search_strategy.ended


def test_an_interrupt_before_the_first_trial_is_raised(tune):
    class Impatient(Count):
        def generate_measure_candidates(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune([task(strategy=Impatient())])


def test_an_interrupt_while_building_keeps_what_runs(tune, tmp_path):
    class Slow(PaperBuilder):
        def stream(self, build_inputs):
            for position, result in super().stream(build_inputs):
                if position == 2:
                    raise KeyboardInterrupt
                yield position, result

    database = MemoryDatabase()
    scheduler = tune([task()], builder=Slow(tmp_path), database=database)
    assert scheduler.was_interrupted
    assert factors(database.get_all_tuning_records()) == [1, 2]


class Learning(CostModel):
    def __init__(self):
        self.learned = []

    def update(self, context, candidates, results):
        self.learned.append(
            [(factor_of(c), r.run_secs) for c, r in zip(candidates, results, strict=True)]
        )


def test_what_was_measured_before_is_known(tune):
    database = MemoryDatabase()
    tune([task(strategy=Count(4))], database=database)
    context, runner, model = task(strategy=Count(8)), PaperRunner(), Learning()
    scheduler = tune([context], trials=6, database=database, runner=runner, cost_model=model)
    assert [factor for what, factor in runner.log if what == "run"][:4] == [5, 6, 7, 8]
    assert [factor for factor, _ in context.search_strategy.seen] == list(range(1, 9))
    assert dict(model.learned[0])[4] == [0.25]
    assert scheduler.tasks[0].trials == 4
    assert scheduler.tasks[0].latency == 1 / 8


def test_a_faster_candidate_of_an_earlier_run_takes_part_in_the_final(tune):
    database = MemoryDatabase()
    tune([task(strategy=Count(4))], database=database)
    # The machine is slower now, so that the old measurements cannot be compared with the new ones.
    runner = PaperRunner(lambda factor: 0.27 if factor > 7 else 0.31)
    scheduler = tune([task(strategy=Count(8))], database=database, runner=runner)
    assert runner.again == [[4, 8]]
    assert scheduler.tasks[0].latency == 0.27


@pytest.mark.parametrize(
    ("written", "damaged"),
    [
        ('"GetLoops"', '"GetLops"'),
        ('"trace":[[[', '"trace":[[],[['),
        ('"trace":[[[', '"trace":[[},[['),
        ('"TENSOR"', '"TENSO"'),
        ('"Split",["l1"', '"Split",["l9"'),
    ],
)
def test_records_that_cannot_be_used_are_passed_over(tune, tmp_path, written, damaged):
    tune([task(strategy=Count(4))], database=JSONDatabase(work_dir=tmp_path / "records"))
    file = tmp_path / "records" / "database_tuning_record.json"
    text = file.read_text()
    assert written in text
    file.write_text(text.replace(written, damaged))
    database = JSONDatabase(work_dir=tmp_path / "records")
    scheduler = tune([task(strategy=Count(8))], trials=4, database=database)
    assert scheduler.tasks[0].trials == 4


@pytest.mark.parametrize(("equality", "known"), [("ignore-ndarray", 4), ("anchor-block", 0)])
def test_records_of_a_similar_program_are_about_the_program_of_the_task(tune, equality, known):
    """Two modules that a database takes for one: constants differ, or what is around a block."""

    class AllEqual(type(ModuleEquality.create(equality))):
        def hash(self, mod):
            return 0

        def equal(self, lhs, rhs):
            return True

    database = MemoryDatabase(AllEqual())
    tune([task(16, strategy=Count(4))], database=database)
    context, runner = task(32, strategy=Count(8)), PaperRunner()
    tune([context], trials=4, database=database, runner=runner)
    assert next(factor for what, factor in runner.log if what == "run") == known + 1
    shapes = {args[0].shape for args in runner.args_info}
    assert shapes == {(32,)}


def test_what_an_interrupted_run_left_unchecked_does_not_win(tune):
    database, runner = MemoryDatabase(), Interrupting(9)
    runner.is_ready = False
    scheduler = tune([task()], trials=20, database=database, runner=runner)
    assert scheduler.was_interrupted
    # All but the slowest ones are wrong, and faster than what comes now.
    runner = PaperRunner(lambda factor: 0.4 if factor > 8 else 1.0 / factor, wrong=range(3, 9))
    context = task(strategy=Count(12))
    scheduler = tune([context], trials=4, database=database, runner=runner)
    assert scheduler.tasks[0].latency == 0.4
    assert database.query_tuning_record(context.mod, context.target).mean_secs == 0.4


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_times_that_can_be_none_are_a_failure(tune, seconds):
    database = MemoryDatabase()
    runner = PaperRunner(lambda factor: seconds if factor == 3 else 1.0 / factor)
    record = tune([task()], database=database, runner=runner).tasks[0]
    assert (record.latency, record.failures.counts) == (1 / 8, {"run": 1})
    assert "as the seconds of its runs" in record.failures.examples["run"]
    assert sum(not known.is_valid for known in database.get_all_tuning_records()) == 1


@pytest.mark.parametrize("where", ["run", "build"])
def test_a_candidate_that_fails_in_the_final_does_not_win_unchecked(tune, tmp_path, where):
    class Failing(PaperRunner):
        def remeasure(self, runner_inputs):
            results = super().remeasure(runner_inputs)
            fails = [where == "run" and factor == 8 for factor in self.again[-1]]
            crash = RunnerResult(None, "crash", "crash")
            return [crash if f else r for f, r in zip(fails, results, strict=True)]

    built = set()

    def breaks(factor):
        again = factor in built
        built.add(factor)
        return where == "build" and again and factor == 8

    database, runner = MemoryDatabase(), Failing()
    runner.is_ready = False
    builder = PaperBuilder(tmp_path, fails=breaks)
    scheduler = tune([task()], database=database, runner=runner, builder=builder)
    record = scheduler.tasks[0]
    assert record.is_verified(record.fastest[0][1])
    assert factors([database.query_tuning_record(record.mod, record.target)]) == [7]


def test_files_of_candidates_that_nobody_waits_for_are_removed(tune, tmp_path):
    scheduler = tune([task()], runner=Interrupting(3))
    assert scheduler.was_interrupted
    assert not list(tmp_path.iterdir())


def test_the_cost_model_learns_from_what_was_built(tune, tmp_path):
    model = Learning()
    tune(
        [task(strategy=Count(4))],
        builder=PaperBuilder(tmp_path, fails=lambda factor: factor == 2),
        runner=PaperRunner(lambda factor: "bad" if factor == 3 else 1.0),
        cost_model=model,
    )
    assert model.learned == [[(1, [1.0]), (3, None), (4, [1.0])]]


def test_a_scheduler_of_the_user(tune):
    class Backwards(TaskScheduler):
        def next_task_id(self):
            for record in reversed(self.tasks):
                self.join_running_task(record.task_id)
                if not record.is_terminated:
                    return record.task_id
            return -1

    scheduler = tune([task(16), task(32)], trials=8, per_task=6, scheduler=Backwards())
    assert [record.trials for record in scheduler.tasks] == [2, 6]


def test_a_scheduler_that_chooses_a_task_that_runs(tune):
    class Hasty(TaskScheduler):
        def next_task_id(self):
            return 0

    with pytest.raises(ArgumentValueError, match="task #0, which is running; join_running_task"):
        tune([task()], scheduler=Hasty())
    with pytest.raises(NotImplementedError, match="TaskScheduler does not define `next_task_id`"):
        tune([task()], scheduler=TaskScheduler())


def test_wrong_arguments(tune):
    with pytest.raises(ArgumentValueError, match="max_trials_global is at least 1, got 0"):
        tune([task()], trials=0)
    with pytest.raises(ArgumentError, match="max_trials_per_task is an integer"):
        tune([task()], per_task=2.5)
    with pytest.raises(ArgumentValueError, match="max_seconds must be more than 0"):
        tune([task()], max_seconds=-1)
    with pytest.raises(ArgumentValueError, match="1 tasks, but 2 task_weights"):
        tune([task()], weights=[1, 2])
    with pytest.raises(ArgumentValueError, match="no tasks"):
        tune([])
    with pytest.raises(ArgumentValueError, match="task_weights are 0 or more"):
        tune([task()], weights=[-1])


def test_create():
    assert isinstance(TaskScheduler.create(), GradientBased)
    assert isinstance(TaskScheduler.create("round-robin"), RoundRobin)
    assert TaskScheduler.create("gradient", alpha=0.5).alpha == 0.5
    own = RoundRobin()
    assert TaskScheduler.create(own) is own
    with pytest.raises(UnknownNameError, match="no task scheduler 'gradiant'; did you mean 'grad"):
        TaskScheduler.create("gradiant")
    with pytest.raises(ArgumentError, match="expected a task scheduler"):
        TaskScheduler.create(3)


def test_records_are_of_the_machine_that_the_runner_measures_on(tune, tmp_path):
    other = {"cpu": "Other 4000", "llvm_cpu": "other4"}

    class Elsewhere(PaperRunner):
        def machine(self, target):
            return other

    def made():
        return task(target="llvm -mtriple=x86_64-linux-gnu -num-cores=1")

    database, log = MemoryDatabase(), []
    builder = PaperBuilder(tmp_path, lambda factor: factor == 3)
    tune([made()], trials=4, database=database, runner=Elsewhere(log=log), builder=builder)
    assert [record.machine for record in database.get_all_tuning_records()] == [other] * 4
    log.clear()
    tune([made()], trials=2, database=database, runner=Elsewhere(log=log), builder=builder)
    assert [factor for _, factor in log] == [5, 6], "the others are known"
    log.clear()
    tune([made()], trials=2, database=database, runner=PaperRunner(log=log), builder=builder)
    assert [factor for _, factor in log] == [1, 2], "not on this machine"
