"""Tuning small programs, with everything that takes part."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import te
from tilewright.error import TuningError
from tilewright.te import create_prim_func

TARGET = "llvm -num-cores=1"


def dense_relu(n=24, k=20):
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, n), name="B")
    bias = te.placeholder((n,), name="bias")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, r] * b[r, j], r), name="C")
    d = te.compute((n, n), lambda i, j: te.max(c[i, j] + bias[j], 0.0), name="D")
    return create_prim_func([a, b, bias, d])


def check(module):
    rng = np.random.default_rng(0)
    a, b, bias = (rng.random(s, dtype="float32") - 0.5 for s in ((24, 20), (20, 24), (24,)))
    d = np.zeros((24, 24), "float32")
    tvm.build(module, target=TARGET)["main"](a, b, bias, d)
    np.testing.assert_allclose(d, np.maximum(a @ b + bias, 0), rtol=1e-4, atol=1e-5)


def test_tuning_and_going_on(tmp_path, capfd):
    func = dense_relu()
    given = {"work_dir": str(tmp_path), "seed": 1}
    database = ms.tune_tir(func, TARGET, max_trials_global=4, report=True, **given)
    sch = ms.tir_integration.compile_tir(database, func, TARGET)
    check(sch.mod)
    trials = [r for r in database.get_all_tuning_records() if not r.supersedes]
    assert len(trials) == 4
    assert (tmp_path / "report.html").stat().st_size > 1000
    again = ms.tune_tir(func, TARGET, max_trials_global=2, strategy="replay-trace", **given)
    trials = [r for r in again.get_all_tuning_records() if not r.supersedes]
    assert len(trials) == 6
    assert len({r.candidate_key for r in trials}) == 6
    output, errors = capfd.readouterr()
    assert output == ""
    assert [line.split(" | ")[1].split(",")[0] for line in errors.splitlines()] == [
        "1/4 trials", "4/4 trials", "2/2 trials",
    ]  # fmt: skip


def test_a_tuned_schedule_in_the_old_form(tmp_path):
    config = ms.TuneConfig(2, 2, strategy="replay-trace")
    sch = ms.tune_tir(dense_relu(), TARGET, config=config, work_dir=tmp_path, task_name="dense")
    check(sch.mod)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c(tmp_path):
    """The user loses patience after the first batch.

    If that is while a process starts, Python finds sockets that nobody has closed yet, and does.
    """
    log = tmp_path / "logs" / "tvm.meta_schedule.logging.task_scheduler.log"

    # A program that is started in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press():
        for _ in range(600):
            # The first batch is the default schedule alone.
            if log.exists() and log.read_text().count("[Updated]") >= 2:
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        database = ms.tune_tir(
            dense_relu(), TARGET, work_dir=tmp_path, max_trials_global=10_000,
            num_trials_per_iter=4, cost_model="random", strategy="replay-trace",
        )  # fmt: skip
    except KeyboardInterrupt:  # pragma: no cover
        pytest.fail("what was measured is lost")
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert 4 <= len(database) < 1000
    assert "was interrupted" in log.read_text()
    check(ms.tir_integration.compile_tir(database, dense_relu(), TARGET).mod)


def test_a_space_without_a_candidate(tmp_path):
    @ms.derived_object
    class Never(ms.postproc.PyPostproc):
        def apply(self, sch):
            return False

    space = ms.space_generator.PostOrderApply(postprocs=[Never()])
    with pytest.raises(TuningError, match=r"'main' has no candidate; refused were \d+ by Never"):
        ms.tune_tir(
            dense_relu(), TARGET, work_dir=tmp_path, max_trials_global=2, space=space,
            cost_model="random",
        )  # fmt: skip
