"""Who does what, and what happens when a worker is lost; in virtual time."""

from __future__ import annotations

import pytest
from benchmarks.fleet.simulated_cluster import MACHINE, Fate, SimulatedCluster

from tilewright.error import TVMError
from tilewright.tune.measure.fleet import Pool
from tilewright.tune.measure.fleet.assignment import TaskLostError
from tilewright.tune.measure.fleet.cluster import Role


class Fleet:
    """A pool whose tasks are names; by default each takes a second and is answered by itself."""

    def __init__(self, loop, count, work=lambda actor, task: (1.0, task), parallel=1, room=1, **o):
        self.loop, self.log = loop, []

        def noted(actor, method, task):
            self.log.append((task, actor.number, loop.now))
            return work(actor, task)

        self.cluster = SimulatedCluster(noted, **{k: o.pop(k) for k in ("latency",) if k in o})
        self.pool = Pool(self.cluster, Role("m:C", {}, {"CPU": 2}, parallel, room), count, **o)

    def opened(self):
        self.loop.start(self.pool.open()).result()
        return self

    def begin(self, *tasks, seconds=10.0, worker=None):
        return [
            self.loop.start(self.pool.do("work", lambda task=task: task, seconds, worker))
            for task in tasks
        ]

    def do(self, *tasks, **options):
        return [future.result() for future in self.begin(*tasks, **options)]

    def who(self, task):
        """The workers that got a task, in order."""
        return [number for name, number, _ in self.log if name == task]


def test_tasks_are_shared(loop):
    fleet = Fleet(loop, 4).opened()
    assert fleet.do(*range(8)) == list(range(8))
    assert loop.now == pytest.approx(2.0)
    assert sorted(number for _, number, _ in fleet.log) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_worker_has_no_more_tasks_than_it_has_room_for(loop):
    fleet = Fleet(loop, 2, parallel=1, room=2).opened()
    fleet.begin(*range(9))
    loop.sleep(0.5)
    assert [len(worker.tasks) for worker in fleet.pool.workers] == [2, 2]
    assert [number for _, number, _ in fleet.log] == [0, 1], "one at a time"


@pytest.mark.parametrize(("room", "seconds"), [(1, 4 * 1.2), (2, 4 + 0.2)])
def test_what_waits_at_a_worker_hides_the_latency(loop, room, seconds):
    fleet = Fleet(loop, 1, room=room, latency=0.1).opened()
    start = loop.now
    fleet.do(*range(4))
    assert loop.now - start == pytest.approx(seconds)


def test_several_tasks_at_the_same_time(loop):
    fleet = Fleet(loop, 1, parallel=3, room=3).opened()
    fleet.do(*range(6))
    assert loop.now == pytest.approx(2.0)


def test_a_task_goes_to_the_worker_that_knows_about_it(loop):
    fleet = Fleet(loop, 3).opened()
    wanted = fleet.pool.workers[2]
    fleet.do(*"abcdef", worker=wanted)
    assert {number for _, number, _ in fleet.log} == {2}
    fleet.cluster.actors[2].die()
    assert fleet.do("g", worker=wanted) == ["g"]
    assert fleet.who("g") != [2]


def dies_once(actor, task):
    return (1.0, Fate.DIE if (task, actor.number) == ("b", 0) else task)


def test_tasks_of_a_dead_worker_are_done_elsewhere(loop, caplog):
    fleet = Fleet(loop, 1, dies_once, room=2).opened()
    assert fleet.do(*"abcd") == list("abcd")
    assert [name for name, _, _ in fleet.log] == list("abbcd"), "in the same order"
    assert len(fleet.cluster.actors) == 2
    assert "a worker on host0 is replaced: simulated worker 0 is dead" in caplog.text


def test_a_task_that_kills_its_workers_is_given_up_and_others_are_not(loop):
    fleet = Fleet(loop, 2, lambda _, task: (1.0, Fate.DIE if task == "bad" else task), room=2)
    fleet.opened()
    bad, *good = fleet.begin("bad", *range(6))
    assert [future.result() for future in good] == list(range(6))
    with pytest.raises(TaskLostError, match="3 workers died of it, the last one so: simulated"):
        bad.result()
    assert len(fleet.who("bad")) == 3
    loop.sleep(1)
    assert len(fleet.cluster.actors) == 2 + 3
    assert all(worker.is_there for worker in fleet.pool.workers)


def test_a_worker_that_hangs_is_killed(loop):
    fleet = Fleet(loop, 2, lambda a, t: (1.0, Fate.HANG if a.number == 0 else t), room=2).opened()
    assert fleet.do(*range(4), seconds=10.0) == list(range(4))
    assert [actor.number for actor in fleet.cluster.ended] == [0]
    assert 10 < loop.now < 13


def test_a_task_that_hangs_everywhere(loop):
    fleet = Fleet(loop, 2, lambda _, task: (1.0, Fate.HANG)).opened()
    with pytest.raises(TaskLostError, match=r"3 workers hung of it.*no answer") as caught:
        fleet.do("x", seconds=5.0)
    assert caught.value.kind == "timeout"


def test_a_task_that_waits_behind_a_slow_one_does_not_hang(loop):
    fleet = Fleet(loop, 1, lambda _, task: (4.0, task), room=2).opened()
    assert fleet.do("a", "b", seconds=5.0) == ["a", "b"]
    assert not fleet.cluster.ended


def test_errors_of_the_worker_are_those_of_the_task(loop):
    fleet = Fleet(loop, 1, lambda _, task: (1.0, ValueError("no") if task == "x" else task))
    fleet.opened()
    with pytest.raises(ValueError, match="no"):
        fleet.do("x")
    assert fleet.do("y") == ["y"]


def test_what_is_cancelled_is_not_sent(loop):
    fleet = Fleet(loop, 1).opened()
    first, second, third = fleet.begin(*"abc")
    loop.sleep(0.5)
    second.cancel()
    assert [first.result(), third.result()] == ["a", "c"]
    assert fleet.who("b") == []


def test_when_no_worker_is_left(loop):
    fleet = Fleet(loop, 2).opened()
    futures = fleet.begin(*range(4))
    loop.sleep(0.5)
    fleet.cluster.start_seconds = 1e6
    for actor in fleet.cluster.actors:
        actor.die()
    for future in futures:
        with pytest.raises(TVMError, match=r"no worker of the fleet is left.*after 120 s.*CPU: 2"):
            future.result()
    with pytest.raises(TVMError, match="no worker of the fleet is left"):
        fleet.do("x")


def test_when_no_worker_comes(loop):
    fleet = Fleet(loop, 2, start_limit=7)
    fleet.cluster.start_seconds = 8
    with pytest.raises(TVMError, match=r"no worker of the fleet starts: it is not there after 7 s"):
        fleet.opened()
    assert len(fleet.cluster.ended) == 2


def test_a_few_workers_are_enough(loop):
    fleet = Fleet(loop, 3, start_limit=7)
    start = fleet.cluster.start

    def late(role, predecessor):
        actor = start(role, predecessor)
        if actor.number == 1:
            actor.die()
        return actor

    fleet.cluster.start = late
    assert fleet.opened().do("x") == ["x"]
    assert len(fleet.cluster.actors) == 4, "the dead one is started again"


def test_other_versions_are_refused(loop):
    fleet = Fleet(loop, 1)
    fleet.cluster.versions = {**fleet.cluster.versions, "Python": "2.7"}
    with pytest.raises(TVMError, match=r"host0 has other versions.*Python 2.7, here 3\."):
        fleet.opened()


OTHER = {**MACHINE, "cpu": "Other 4000"}


def test_machines_of_several_kinds_are_refused(loop):
    fleet = Fleet(loop, 3)
    fleet.cluster.machines[1] = OTHER
    with pytest.raises(TVMError, match=r"several kinds.*: Other 4000 \(sim3\), Simulated 3000"):
        fleet.opened()
    assert len(fleet.cluster.ended) == 3


def test_machines_of_one_kind_are_chosen_by_name(loop):
    fleet = Fleet(loop, 3, machine="other")
    fleet.cluster.machines[1] = OTHER
    fleet.opened().do(*range(3))
    assert {number for _, number, _ in fleet.log} == {1}
    assert fleet.pool.machine == OTHER
    missing = Fleet(loop, 3, machine="PDP-11")
    with pytest.raises(TVMError, match=r"host0 has another processor: Simulated 3000 \(sim3\)"):
        missing.opened()


def test_a_worker_is_replaced_on_the_same_kind_of_machine(loop, caplog):
    fleet = Fleet(loop, 2, dies_once).opened()
    fleet.cluster.machines[2] = OTHER
    assert fleet.do("b", "c") == ["b", "c"]
    assert "host2 has another processor" in caplog.text
    assert sum(worker.is_there for worker in fleet.pool.workers) == 1


def test_closing_cancels(loop):
    fleet = Fleet(loop, 2).opened()
    futures = fleet.begin(*range(4))
    loop.sleep(0.5)
    loop.call(fleet.pool.close)
    for future in futures:
        with pytest.raises(TVMError, match="the fleet was closed"):
            future.result()
    assert len(fleet.cluster.ended) == 2
