"""Building on a fleet; in virtual time."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from benchmarks.fleet.simulated_cluster import Fate, SimulatedCluster
from tests.tune.measure import programs

from tilewright.tune.measure import BuilderInput
from tilewright.tune.measure.fleet import FleetBuilder, Pool
from tilewright.tune.measure.fleet.cluster import Role
from tilewright.tune.measure.fleet.opening import LazyPool
from tilewright.tune.measure.fleet.tasks import Built
from tilewright.tune.measure.run_requests import Artifact


class Builds:
    """A builder that does what the parameter of a candidate says."""

    def __init__(self, loop, count=2):
        self.sent = []
        self.cluster = SimulatedCluster(self.work)
        role = Role("m:C", parallel=2, room=2)
        pool = LazyPool(loop, lambda cores: Pool(self.cluster, role, count), "Builds", None)
        self.builder = FleetBuilder(pool, 30.0, 10.0)

    def work(self, actor, method, task):
        assert method == "build"
        _, params = pickle.loads(task.program)
        self.sent.append(task)
        if isinstance(params["do"], Fate):
            return 1.0, params["do"]
        if params["do"] == "fail":
            return 1.0, Built(None, "no code", "build", 1.0)
        return params["do"], Built(Artifact("x.o", b"code"), None, None, params["do"], 0.5)


def to_build(do, **limits):
    mod = programs.module(programs.add_one)
    return BuilderInput(mod, programs.ONE_CORE, {"do": do}, **limits)


@pytest.fixture
def builds(loop):
    made = Builds(loop)
    yield made
    made.builder.close()


def test_results_come_as_they_are_there(builds):
    found = list(builds.builder.stream([to_build(seconds) for seconds in (3.0, 1.0, "fail", 2.0)]))
    assert [position for position, _ in found] == [1, 2, 3, 0]
    results = dict(found)
    assert results[2].error_kind == "build"
    assert results[2].artifact_path is None
    assert (results[3].seconds, results[3].cpu_seconds) == (2.0, 0.5)
    paths = [Path(results[position].artifact_path) for position in (0, 1, 3)]
    assert len({path.parent for path in paths}) == 3, "each in a directory of its own"
    assert all(path.name == "x.o" and path.read_bytes() == b"code" for path in paths)


def test_results_in_order(builds):
    results = builds.builder.build([to_build(seconds) for seconds in (3.0, 1.0)])
    assert [result.seconds for result in results] == [3.0, 1.0]


def test_candidates_that_kill_or_hold_their_workers(builds):
    killer, sleeper = builds.builder.build([to_build(Fate.DIE), to_build(Fate.HANG)])
    assert (killer.error_kind, sleeper.error_kind) == ("crash", "build-timeout")
    assert "3 workers died of it" in killer.error_msg


def test_a_module_that_cannot_be_sent_fails_alone(builds):
    bad = BuilderInput(programs.module(programs.add_one), programs.ONE_CORE, {"do": lambda: 0})
    failed, good = builds.builder.build([bad, to_build(1.0)])
    assert failed.error_kind == "build"
    assert "pickle" in failed.error_msg.lower()
    assert good.artifact_path is not None


def test_who_stops_listening_cancels_the_rest(builds, loop):
    stream = builds.builder.stream([to_build(1.0 + 0.1 * n) for n in range(12)])
    next(stream)
    stream.close()
    loop.sleep(10)
    assert len(builds.sent) <= 5


def test_building_in_the_background(builds, loop):
    told = []
    futures = builds.builder.begin(
        [to_build(2.0), to_build(1.0)], lambda position, result: told.append((position, result))
    )
    assert not told
    loop.sleep(1.5)
    assert [position for position, _ in told] == [1]
    assert [future.done() for future in futures] == [False, True]
    assert futures[0].result() is told[1][1]


def test_limits_are_sent(builds):
    import time

    builds.builder.build([to_build(1.0), to_build(1.0, cpu_seconds=3.0, deadline=time.monotonic())])
    limits = sorted((task.seconds, task.cpu_seconds) for task in builds.sent)
    assert limits[0] == (0.0, 3.0)
    assert limits[1][0] == 30.0


def test_what_was_built_is_deleted_in_the_end(builds):
    (result,) = builds.builder.build([to_build(1.0)])
    builds.builder.close()
    assert not Path(result.artifact_path).exists()
