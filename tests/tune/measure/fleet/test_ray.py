"""Fleets by Ray: a cluster of this machine, with two workers that run and one that builds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from tests.tune.measure import programs

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.script import tir as T
from tilewright.tune.database.record import this_machine
from tilewright.tune.measure import (
    EvaluatorConfig,
    LocalBuilder,
    LocalRunner,
    RayBuilder,
    RayRunner,
)
from tilewright.tune.measure.fleet.ray_cluster import RayConnection

QUICK = EvaluatorConfig(3, 1, 4)
TARGET = "llvm -num-cores=1"


@pytest.fixture(scope="module")
def connection():
    """The cluster, which all fleets here share."""
    made = RayConnection.open(None)
    yield made
    made.close()


@pytest.fixture(scope="module")
def builder(connection):
    made = RayBuilder(processes=1)
    yield made
    made.close()


@pytest.fixture(scope="module")
def runner(connection):
    made = RayRunner(num_workers=2, timeout_sec=2, grace_sec=1, evaluator_config=QUICK)
    yield made
    made.close()


@pytest.fixture(scope="module")
def built(builder):
    return builder.build([programs.to_build(programs.add_one), programs.to_build(programs.hang)])


def pids_of(runner):
    return [worker.greeting.pid for worker in runner._pool.open(1).workers]


@T.prim_func
def product(
    A: T.Buffer((32, 48), "float32"),
    B: T.Buffer((48, 64), "float32"),
    C: T.Buffer((32, 64), "float32"),
):
    for i, j, k in T.grid(32, 64, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def tuned(tmp_path, trials, **parts):
    """A database, with a search that does not depend on times."""
    return ms.tune_tir(
        product, TARGET, work_dir=str(tmp_path), max_trials_global=trials,
        num_trials_per_iter=2, cost_model="random", seed=1, **parts,
    )  # fmt: skip


def traces_of(database):
    records = [record for record in database.get_all_tuning_records() if not record.supersedes]
    assert all(record.is_valid for record in records)
    return {str(record.trace_json) for record in records}


def test_candidates_are_built_and_run(built, runner):
    assert all(result.error_msg is None for result in built)
    assert all(result.cpu_seconds > 0 for result in built)
    inputs = [programs.to_run(built[0], key="add") for _ in range(4)]
    results = [future.result() for future in runner.run(inputs)]
    assert all(result.error_msg is None and len(result.run_secs) == 1 for result in results)
    assert all(result.machine == this_machine() for result in results)
    (hanging,) = [future.result() for future in runner.run([programs.to_run(built[1], key="h")])]
    assert (hanging.error_kind, hanging.error_msg) == ("timeout", "running took longer than 2 s")


def test_candidates_are_checked_and_measured_in_turns(built, runner):
    item, mod = programs.to_run(built[0], key="add"), programs.module(programs.add_one)
    runner.expect(item, mod)
    assert runner.check(item, mod) is None
    deadline = time.monotonic() + 20
    while not runner.can_check(item, mod):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    other = programs.to_run(built[0], key="two")
    assert "argument 2" in runner.check(other, programs.module(programs.add_two))
    item.seconds = 0.1
    assert all(result.run_secs for result in runner.remeasure([item, item]))


def test_a_worker_that_is_killed_is_replaced(built, runner):
    before = pids_of(runner)
    futures = runner.run([programs.to_run(built[0], key="add") for _ in range(6)])
    os.kill(before[0], signal.SIGKILL)
    assert all(future.result().run_secs for future in futures)
    wait_for_others(runner, before)


def test_a_worker_that_hangs_is_replaced(built, runner):
    before = pids_of(runner)
    os.kill(before[1], signal.SIGSTOP)
    futures = runner.run([programs.to_run(built[0], key="add") for _ in range(6)])
    assert all(future.result().run_secs for future in futures)
    wait_for_others(runner, before)
    assert not Path(f"/proc/{before[1]}").exists(), "its core would not be free"


def wait_for_others(runner, before):
    """Wait until there are two workers again."""
    deadline = time.monotonic() + 30
    while True:
        workers = runner._pool.open(1).workers
        if all(w.is_there for w in workers) and [w.greeting.pid for w in workers] != before:
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_tuning_finds_the_same_as_on_one_machine(tmp_path, builder, runner):
    fleet = tuned(tmp_path / "fleet", 3, builder=builder, runner=runner)
    local_builder, local_runner = LocalBuilder(max_workers=1), LocalRunner(evaluator_config=QUICK)
    local = tuned(tmp_path / "local", 3, builder=local_builder, runner=local_runner)
    local_builder.close()
    local_runner.close()
    assert traces_of(fleet) == traces_of(local)
    assert len(traces_of(fleet)) == 3
    assert all(dict(r.machine) == this_machine() for r in fleet.get_all_tuning_records())
    module = tvm.build(ms.tir_integration.compile_tir(fleet, product, TARGET).mod, TARGET)
    a, b = (np.random.default_rng(0).random(shape, "float32") for shape in ((32, 48), (48, 64)))
    c = np.empty((32, 64), "float32")
    module["main"](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


DRIVER = """
import sys
from tests.tune.measure.fleet.test_ray import QUICK, tuned
from pathlib import Path
from tilewright.tune.measure import RayBuilder, RayRunner

address, directory = sys.argv[1:]
builder = RayBuilder(address, num_workers=1, processes=1, start_sec=60)
runner = RayRunner(address, num_workers=1, evaluator_config=QUICK, resources={"CPU": 0})
tuned(Path(directory), 1000, builder=builder, runner=runner)
"""


def test_what_was_measured_outlives_the_tuner(tmp_path, connection, builder, runner):
    address = connection.ray.get_runtime_context().gcs_address
    path = os.pathsep.join(entry for entry in sys.path if entry)
    driver = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DRIVER), address, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
    )
    records = tmp_path / "database_tuning_record.json"
    deadline = time.monotonic() + 60
    while not records.exists() or records.read_text().count("\n") < 4:
        assert driver.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    known = traces_of(ms.database.create("json", work_dir=str(tmp_path)))
    assert len(known) >= 4
    resumed = tuned(tmp_path, 2, builder=builder, runner=runner)
    records = [r for r in resumed.get_all_tuning_records() if not r.supersedes]
    assert known < traces_of(resumed)
    assert len(records) == len(traces_of(resumed)) == len(known) + 2, "none is measured twice"


def test_a_fleet_by_its_name(tmp_path, connection):
    database = tuned(tmp_path, 1, builder="ray", runner="ray")
    assert len(traces_of(database)) == 1


def test_mistakes_are_refused(connection):
    with pytest.raises(ArgumentError, match="unknown option timeout"):
        RayRunner(timeout=3)
    with pytest.raises(ArgumentValueError, match="num_workers is more than 0"):
        RayBuilder(num_workers=0)
    with pytest.raises(ArgumentValueError, match="connected to the cluster at"):
        RayRunner("192.0.2.1:6379")
    for address in ("auto", connection.ray.get_runtime_context().gcs_address):
        RayRunner(address).close()
    assert connection.ray.is_initialized()
