"""An example that hangs is a finding, wherever it hangs."""

import contextlib
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.counts import COMPILED, PAIRS, REPLAYED, summary
from tests.property import schedule_fuzz
from tests.property.random_schedules import Steps
from tests.time_limit import TakesTooLongError, time_limit

ROOT = Path(__file__).parents[1]


def compute_for_ever():
    while True:
        with contextlib.suppress(Exception):
            sum(range(1000))


def test_computing_for_too_long():
    with pytest.raises(TakesTooLongError), time_limit(0.05):
        compute_for_ever()
    with time_limit(0.05):
        pass  # the limit is one of the scope


def test_a_pair_that_hangs_is_told(monkeypatch):
    monkeypatch.setattr(schedule_fuzz, "time_limit", functools.partial(time_limit, 0.05))
    monkeypatch.setattr(Steps, "step", lambda steps: compute_for_ever())
    with pytest.raises(AssertionError, match=r"(?s)seed 3: TakesTooLong.*def main.*apply_trace"):
        schedule_fuzz.check_pair(3, compiled=False)


def test_a_result_that_hangs_is_told(monkeypatch):
    monkeypatch.setattr(schedule_fuzz, "time_limit", functools.partial(time_limit, 0.05))
    monkeypatch.setattr(schedule_fuzz, "check_result", lambda *_, **__: compute_for_ever())
    monkeypatch.setattr(Steps, "step", lambda steps: None)
    with pytest.raises(AssertionError, match=r"(?s)seed 3: it takes too long to run.*def main"):
        schedule_fuzz.check_pair(3, compiled=False)


IN_NATIVE_CODE = """
import ctypes
from tests.time_limit import LAST_WORDS, time_limit

def test_it():
    LAST_WORDS.begin("seed 1234")
    with time_limit(0.1, 0.3):
        ctypes.PyDLL(None).sleep(60)
"""


def test_a_worker_that_hangs_in_native_code_dies_with_last_words(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(IN_NATIVE_CODE)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    options = ["-p", "tests.counts", "-p", "no:cacheprovider", "-n", "1"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--max-worker-restart", "0"],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "the worker gw0 died in, or after" in result.stdout
    assert "seed 1234" in result.stdout
    assert "test_it.py" in result.stderr  # the stack


def test_a_line_sums_up_what_was_checked():
    counts = {
        PAIRS: 7, COMPILED: 2, REPLAYED: 1,
        "step split: accepted": 5, "step fuse: accepted": 1, "step fuse: refused": 4,
    }  # fmt: skip
    assert summary(counts) == [
        "7 pairs of a random program and a random schedule: 6 steps accepted, 4 refused; 2 of the "
        "results compiled, 1 traces replayed"
    ]
    assert summary({"compiled by llvm": 3}) == []
