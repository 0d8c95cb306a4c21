"""Times that can be compared, whichever worker they come from; in virtual time."""

from __future__ import annotations

import pytest
from benchmarks.fleet.simulated_cluster import MACHINE, Fate, SimulatedCluster
from tests.tune.measure import programs

from tilewright.error import ArgumentValueError, TargetError
from tilewright.target import Target
from tilewright.tune.measure import RunnerInput, RunnerResult
from tilewright.tune.measure.fleet import FleetRunner, Pool
from tilewright.tune.measure.fleet.cluster import Role
from tilewright.tune.measure.fleet.opening import LazyPool

MOD = programs.module(programs.add_one)


class Runs:
    """A runner whose candidates are files with their times, and whose workers differ in speed."""

    def __init__(self, loop, directory, count=2, cores=None, compares=True):
        self.loop, self.directory, self.log = loop, directory, []
        self.cluster = SimulatedCluster(self.work)
        role = Role("m:C", parallel=1, room=2)
        pool = LazyPool(loop, lambda cores: Pool(self.cluster, role, count), "Runs", cores)
        self.runner = FleetRunner(pool, 30.0, 10.0, compares, count, True)
        self.ready_after = 0.0

    def work(self, actor, method, task):
        self.log.append((method, actor.number))
        if method == "run":
            return 1.0, self.timed(actor, task.artifacts[0].content, task.standard)
        if method == "remeasure":
            seconds = sum(item.seconds or 1.0 for item in task.inputs)
            timed = [self.timed(actor, a.content, task.standard) for a in task.artifacts]
            return seconds, timed[0] if isinstance(timed[0], Fate) else timed
        if method == "can_check":
            return 0.0, self.loop.now >= self.ready_after
        if method == "check":
            return 0.1, "it differs" if task.artifact.content == b"0.5" else None
        return 0.0, None

    def timed(self, actor, content, standard):
        if content in (b"die", b"hang"):
            return Fate(content.decode())
        speed = 1.0 + actor.number
        seconds = speed * float(content)
        if standard is not None:
            seconds *= standard.nominal / (speed * float(standard.artifact.content))
        complete = standard is None or seconds < 10 * standard.best
        return RunnerResult([seconds], is_complete=complete, machine=actor.machine)

    def input(self, content, key="a", num_cores=1):
        path = self.directory / f"{content}.o"
        path.write_text(str(content))
        return RunnerInput(str(path), "cpu", [], key, num_cores)

    def run(self, *contents, **options):
        futures = self.runner.run([self.input(content, **options) for content in contents])
        return [future.result() for future in futures]


def seconds_of(results):
    return [result.run_secs[0] for result in results]


def test_times_are_those_of_one_machine(loop, tmp_path):
    runs = Runs(loop, tmp_path)
    assert seconds_of(runs.run(1.0, 3.0, 2.0, 1.5)) == [1.0, 3.0, 2.0, 1.5]
    assert {number for _, number in runs.log} == {0, 1}
    assert seconds_of(runs.run(0.5, 4.0)) == [0.5, 4.0]
    standard = runs.runner._known[("a", 1)].workload.standard
    assert (standard.best, standard.artifact.content) == (0.5, b"0.5")


def test_nothing_is_compared_without_a_key(loop, tmp_path):
    runs = Runs(loop, tmp_path)
    assert sorted(seconds_of(runs.run(1.0, 1.0, key=None))) == [1.0, 2.0]
    evaluated = Runs(loop, tmp_path, compares=False)
    assert sorted(seconds_of(evaluated.run(1.0, 1.0))) == [1.0, 2.0]


def test_the_first_candidate_of_a_workload_is_alone_and_other_workloads_are_not(loop, tmp_path):
    runs = Runs(loop, tmp_path, count=4)
    runs.runner.machine(Target("llvm -mtriple=x86_64-sim -num-cores=1"))
    inputs = [runs.input(1.0, key) for key in "aaabbb"]
    futures = runs.runner.run(inputs)
    loop.sleep(0.5)
    assert len(runs.log) == 2
    assert [future.result().run_secs for future in futures] == [[1.0]] * 3 + [
        futures[3].result().run_secs
    ] * 3


def test_after_a_first_candidate_that_fails_comes_the_next(loop, tmp_path):
    runs = Runs(loop, tmp_path)
    failed, *others = runs.run("die", 1.0, 2.0)
    assert failed.error_kind == "crash"
    assert failed.machine == MACHINE
    assert "3 workers died of it" in failed.error_msg
    assert others[1].run_secs[0] == 2 * others[0].run_secs[0]
    (hung,) = runs.run("hang")
    assert hung.error_kind == "timeout"


def test_finalists_are_on_one_worker(loop, tmp_path):
    runs = Runs(loop, tmp_path)
    runs.run(1.0, 2.0)
    items = [runs.input(content) for content in (1.0, 2.0)]
    for item in items:
        item.seconds = 0.3
    runs.log.clear()
    ends = [runs.runner.start_remeasuring(items) for _ in range(2)]
    start = loop.now
    assert [seconds_of(end()) for end in ends] == [[1.0, 2.0]] * 2
    assert sorted(runs.log) == [("remeasure", 0), ("remeasure", 1)]
    assert loop.now - start == pytest.approx(0.6)
    assert [r.error_kind for r in runs.runner.remeasure([runs.input("die")])] == ["crash"]


def test_one_worker_knows_what_a_workload_computes(loop, tmp_path):
    runs = Runs(loop, tmp_path, count=3)
    runs.ready_after = 5.0
    for key in "abc":
        runs.runner.expect(runs.input(1.0, key), MOD)
    loop.sleep(1)
    assert sorted(runs.log) == [("expect", 0), ("expect", 1), ("expect", 2)]
    item = runs.input(1.0, "a")
    home = runs.runner._known[("a", 1)].home
    while not runs.runner.can_check(item, MOD):
        loop.sleep(0.5)
    assert 5.0 <= loop.now < 7.0
    runs.log.clear()
    assert runs.runner.check(item, MOD) is None
    assert runs.runner.check(runs.input(0.5), MOD) == "it differs"
    assert runs.log == [("check", home.actor.number)] * 2
    home.actor.die()
    assert runs.runner.check(item, MOD) is None
    assert runs.runner._known[("a", 1)].home is not None


def test_candidates_that_need_more_cores_than_workers_have(loop, tmp_path):
    runs = Runs(loop, tmp_path, cores=2)
    assert runs.run(1.0, num_cores=2)[0].run_secs == [1.0]
    with pytest.raises(ArgumentValueError, match=r"use 4 cores.*has 2; give cores=4"):
        runs.run(1.0, num_cores=4)


def test_targets_that_workers_do_not_understand(loop, tmp_path):
    runner = Runs(loop, tmp_path).runner
    assert runner.machine(Target("llvm -mtriple=x86_64-sim -num-cores=1")) == MACHINE
    with pytest.raises(TargetError, match=r"'aarch64-linux-gnu' does not run on the workers"):
        runner.machine(Target("llvm -mtriple=aarch64-linux-gnu -num-cores=1"))
    with pytest.raises(TargetError, match=r"another processor: give -mcpu=sim3|does not run"):
        runner.machine(Target("llvm -num-cores=1"))


def test_closing_cancels_what_is_not_measured(loop, tmp_path):
    runs = Runs(loop, tmp_path, count=1)
    futures = runs.runner.run([runs.input(1.0) for _ in range(3)])
    assert futures[0].result().run_secs == [1.0]
    runs.runner.close()
    assert [future.result().error_kind for future in futures[1:]] == ["cancelled"] * 2


def test_what_is_cancelled_before_it_runs(loop, tmp_path):
    runs = Runs(loop, tmp_path, count=1)
    futures = runs.runner.run([runs.input(1.0) for _ in range(5)])
    loop.sleep(0.5)
    futures[4].cancel()
    assert [future.result().run_secs for future in futures[:4]] == [[1.0]] * 4
    assert len(runs.log) == 4
