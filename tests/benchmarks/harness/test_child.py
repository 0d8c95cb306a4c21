"""A pair is checked before it is timed, and its failures are records."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from benchmarks.harness.child import ONE_THREAD, Request, empty_record, measure, relative_error
from benchmarks.harness.peers import numpy_peer
from benchmarks.harness.registry import Entry
from benchmarks.suite.work import Work

import tilewright as tvm
from benchmarks.harness import child, pairs
from tilewright import te


def request_of(peer, threads, schedules):
    return Request(
        work="sum", peer=peer, threads=threads, schedules=schedules,
        rounds=3, batch_seconds=1e-4, limit=1.0,
    )  # fmt: skip


REQUEST = request_of("numpy", 1, ("hand", "default"))


def program():
    A = te.placeholder((4, 8), name="A")
    B = te.placeholder((4, 8), name="B")
    C = te.compute((4, 8), lambda i, j: A[i, j] + B[i, j], name="C")
    return te.create_prim_func([A, B, C])


def schedule(sch, target):
    sch.vectorize(sch.get_loops("C")[-1])


def missing(*inputs):
    raise ModuleNotFoundError("no", name="peer")


def work(**changes):
    fields = {
        "name": "sum", "program": program, "schedule": schedule,
        "inputs": lambda rng: [rng.standard_normal((4, 8), "float32") for _ in range(2)],
        "reference": np.add, "peers": {"numpy": numpy_peer(np.add), "missing": missing},
    }  # fmt: skip
    return Work(**{**fields, **changes})


def measured(the_work, peer="numpy", schedule="hand", threads=1):
    request = request_of(peer, threads, (schedule,))
    record = empty_record(Entry("family", the_work), request, schedule)
    inputs = the_work.inputs(np.random.default_rng(0))
    reference = the_work.reference(*(x.astype("float64") for x in inputs))
    measure(the_work, request, record, inputs, reference)
    return record


@pytest.mark.parametrize("schedule", ["hand", "default"])
def test_both_sides_are_timed(schedule):
    record = measured(work(), schedule=schedule)
    assert record.problem == ""
    assert 3 <= len(record.ours) == len(record.theirs) <= 9
    assert record.error < 1e-6


def test_a_wrong_result_is_not_timed():
    record = measured(work(reference=lambda a, b: a - b))
    assert record.problem.startswith("WRONG RESULT")
    assert record.ours == record.theirs == []


def test_a_program_that_does_not_compile_is_said():
    def wrong(sch, target):
        sch.get_block("nothing")

    record = measured(work(schedule=wrong))
    assert record.problem.startswith("ours failed: ")
    assert record.ours == []


def test_ours_is_timed_alone_without_the_peer():
    record = measured(work(), "missing")
    assert record.problem == "peer is not installed"
    assert 3 <= len(record.ours) <= 9
    assert record.theirs == []


def test_a_peer_that_computes_something_else_is_no_peer():
    record = measured(work(peers={"numpy": numpy_peer(np.subtract)}))
    assert "numpy failed: ValueError: its result is off by" in record.problem
    assert record.theirs == []


def test_a_peer_that_brings_more_threads_is_not_timed():
    def two_threads(*inputs):
        busy = np.ones(1 << 16)
        with_help = ThreadPoolExecutor(1)

        def call():
            other = with_help.submit(np.sin, busy)
            np.sin(busy)
            other.result()

        return call

    record = measured(work(peers={"pool": two_threads}), "pool")
    assert record.problem == "pool runs on more than one thread"
    assert record.ours == record.theirs == []


def test_our_own_time_on_one_thread_is_a_peer():
    record = measured(work(scaling=1.8), ONE_THREAD, threads=2)
    assert record.problem == ""
    assert record.aim == 1.8
    assert len(record.theirs) >= 3  # more where others disturb


def test_aims():
    the_work = work(aim=1.5, default_aim=0.5, against=("numpy",), scaling=1.8)

    def aim(peer, schedule, threads):
        request = request_of(peer, threads, (schedule,))
        return child.aim_of(the_work, request, schedule)

    assert aim("numpy", "hand", 1) == 1.5
    assert aim("numpy", "default", 1) == 0.5
    assert aim("torch", "hand", 1) is None
    assert aim("numpy", "hand", 2) is None
    assert aim(ONE_THREAD, "hand", 2) == 1.8
    assert aim(ONE_THREAD, "default", 2) is None


def test_relative_error():
    one = np.array([1.0, 2.0, -4.0])
    assert relative_error(one, one) == 0
    assert relative_error(np.array([1.0, 2.0, -3.0], "float32"), one) == 0.25
    assert relative_error(np.array([np.nan, 1]), np.array([np.nan, 1])) == 0
    assert np.isnan(relative_error(np.array([np.nan, 1]), np.array([1.0, 1])))
    assert relative_error(np.zeros(2), np.zeros(2)) == 0
    assert relative_error(np.array([np.inf, 1]), np.array([np.inf, 1])) == 0
    assert not relative_error(np.array([np.inf, 1]), np.array([1.0, 1])) < 1
    with pytest.raises(ValueError, match="shape"):
        relative_error(np.zeros(2), np.zeros(3))


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed with SIGSEGV"),
        ("raise SystemExit('no memory')", "failed: no memory"),
        ("import time; time.sleep(60)", "no result after 1 s"),
    ],
)
def test_a_child_that_fails_costs_only_its_own_rows(monkeypatch, tmp_path, code, problem):
    script = tmp_path / "child.py"
    script.write_text(code)
    monkeypatch.setattr(pairs, "CHILD", (sys.executable, str(script)))
    limit = 1.0 if "sleep" in code else 60.0
    records = pairs.measure_pair(Entry("family", work()), REQUEST, limit)
    assert [(r.schedule, r.problem) for r in records] == [("hand", problem), ("default", problem)]


def test_outputs_of_the_program_follow_its_inputs():
    compiled = child.ours.compile_work(work(), "default", [np.ones((4, 8), "float32")] * 2, 1)
    compiled.call()
    assert isinstance(compiled.result, tvm.nd.NDArray)
    np.testing.assert_array_equal(compiled.result.numpy(), np.full((4, 8), 2))
