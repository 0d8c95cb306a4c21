"""Ctrl-C on a terminal, in every phase of tuning: results are kept, nothing false is recorded."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, time

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright.script import tir as T
from tilewright.tune import report
from tilewright.tune.callback import UpdateCostModel
from tilewright.tune.context import TuneContext
from tilewright.tune.database import JSONDatabase
from tilewright.processes.interrupts import Interrupts
from tilewright.tune.measure import local_builder, run_queue
from tilewright.processes import shared_fork_server
from tilewright.tune.scheduler import task_scheduler

PHASES = {
    "space": (TuneContext, "generate_design_space"),
    "search": (TuneContext, "generate_measure_candidates"),
    "build": (local_builder.LocalBuilder, "_ready"),
    "built": (local_builder.LocalBuilder, "_receive"),
    "request": (local_builder.LocalBuilder, "_give"),
    "run": (run_queue.Job, "result"),
    "batch": (task_scheduler.TaskScheduler, "_take_in"),
    "records": (JSONDatabase, "commit_tuning_records"),
    "training": (UpdateCostModel, "apply"),
    "final": (task_scheduler, "measure_finalists"),
    "peaks": (report, "measure"),
    "report": (report, "html_page"),
}
WORK_DIR, PHASE = sys.argv[1:]
PHASE, _, MANNER = PHASE.partition("-")
begun = False
database = JSONDatabase(work_dir=WORK_DIR)


def pause_in(owner, name):
    original = getattr(owner, name)

    def paused(*args, **kwargs):
        global begun
        if not begun and (MANNER == "first" or len(database) > 1):
            begun = True
            print("PAUSED", shared_fork_server()._process.pid, flush=True)
            end = time.monotonic() + 60
            while time.monotonic() < end:
                time.sleep(0.01)
                active = Interrupts._active
                if active is not None and active.count and MANNER != "stubborn":
                    break  # the interrupt waits for the end of the step
        return original(*args, **kwargs)

    setattr(owner, name, paused)


if PHASE != "none":
    pause_in(*PHASES[PHASE])


@T.prim_func
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)


try:
    found = ms.tune_tir(
        scale, "llvm -num-cores=2", work_dir=WORK_DIR, database=database, seed=1,
        max_trials_global=12, num_trials_per_iter=4, report=PHASE in ("peaks", "report") or None,
        cost_model="xgb" if PHASE == "training" else "random",
        strategy="evolutionary" if PHASE == "search" else "replay-trace",
        runner=ms.runner.LocalRunner(
            evaluator_config=ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=1)
        ),
    )
except KeyboardInterrupt:
    print("INTERRUPTED", len(database), flush=True)
else:
    records = found.get_all_tuning_records()
    print("FOUND", len(records), sum(not record.is_valid for record in records), flush=True)
"""


class Terminal:
    """A program in the foreground of a terminal of its own."""

    def __init__(self, tmp_path, phase):
        program = tmp_path / "program.py"
        program.write_text(PROGRAM)
        self._main, theirs = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, str(program), str(tmp_path / "work"), phase],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=_take_terminal,
            env={**os.environ, "TILEWRIGHT_CACHE_DIR": ""},
        )  # fmt: skip
        os.close(theirs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._main)

    def expect(self, pattern, seconds=90.0):
        """The match of a pattern in what the program prints."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.text)
            if found:
                return found
            left = max(deadline - time.monotonic(), 0)
            assert select.select([self._main], [], [], left)[0], f"no {pattern!r}:\n{self.text}"
            try:
                self.text += os.read(self._main, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"ended without {pattern!r}:\n{self.text}") from None

    def press(self):
        """Press Ctrl-C: the terminal sends SIGINT to all processes in its foreground."""
        os.write(self._main, b"\x03")

    def paused(self):
        """The children, once the program is in the phase."""
        server = int(self.expect(r"PAUSED (\d+)\r?\n").group(1))
        return [server, *_children(server)]


def _take_terminal():
    import fcntl
    import termios

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _children(parent):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def assert_gone(pids):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        if not alive:
            return
        time.sleep(0.05)
    raise AssertionError(f"processes {alive} live on")


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.mark.parametrize(
    "phase",
    [
        "search", "build", "request", "run", "batch", "records", "training", "final", "peaks",
        "report",
    ],
)  # fmt: skip
def test_an_interrupt_keeps_what_was_found(tmp_path, phase):
    with Terminal(tmp_path, phase) as terminal:
        children = terminal.paused()
        terminal.press()
        found = terminal.expect(r"FOUND (\d+) (\d+)")
        assert terminal.process.wait(30) == 0
    assert "Traceback" not in terminal.text
    assert int(found.group(1)) >= 4
    assert found.group(2) == "0"
    assert_gone(children)


@pytest.mark.parametrize("phase", ["space-first", "build-first", "built-first"])
def test_an_interrupt_before_the_first_result_is_raised(tmp_path, phase):
    with Terminal(tmp_path, phase) as terminal:
        children = terminal.paused()
        terminal.press()
        assert terminal.expect(r"INTERRUPTED (\d+)").group(1) == "0"
        assert terminal.process.wait(30) == 0
    assert_gone(children)


def test_an_interrupt_before_the_first_result_returns_that_of_earlier_runs(tmp_path):
    with Terminal(tmp_path, "none") as terminal:
        before = terminal.expect(r"FOUND (\d+) 0").group(1)
        terminal.process.wait(30)
    with Terminal(tmp_path, "space") as terminal:
        terminal.paused()
        terminal.press()
        assert terminal.expect(r"FOUND (\d+) 0").group(1) == before


@pytest.mark.parametrize("phase", ["records", "request"])
def test_a_second_interrupt_is_raised_at_once(tmp_path, phase):
    with Terminal(tmp_path, f"{phase}-stubborn") as terminal:
        children = terminal.paused()
        terminal.press()
        time.sleep(0.2)
        terminal.press()
        terminal.expect("INTERRUPTED", 20)
        assert terminal.process.wait(30) == 0
    assert_gone(children)


@pytest.mark.parametrize("phase", ["build", "run"])
def test_termination_keeps_what_was_recorded(tmp_path, phase):
    from tilewright.tune.database import JSONDatabase

    with Terminal(tmp_path, phase) as terminal:
        children = terminal.paused()
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.process.wait(30) == -signal.SIGTERM
    assert_gone(children)
    records = JSONDatabase(work_dir=tmp_path / "work").get_all_tuning_records()
    assert len(records) >= 4
    assert all(record.is_valid for record in records)
