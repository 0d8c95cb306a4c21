"""Property tests by the clock, in a pytest of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

TESTS = """
import time
import pytest
from hypothesis import given, strategies as st

@given(st.integers(0, 1000))
def test_by_hypothesis(n):
    time.sleep(0.01)

@pytest.mark.budget(0.5)
@pytest.mark.parametrize("_", [1, 2])
def test_by_hand(_, budget):
    for number in budget.examples(4):
        time.sleep(0.01)

@given(st.integers())
def test_that_fails(n):
    if n >= 1234:
        pytest.fail("too large")

def test_without_examples():
    pass
"""


def run_pytest(tmp_path, seconds, *options):
    """The output of pytest for `TESTS`, without colours."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    environment = {
        **kept, "PYTHONPATH": str(ROOT), "TILEWRIGHT_FUZZ_SECONDS": str(seconds), "NO_COLOR": "1"
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-p", "tests.budget", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, *options], cwd=tmp_path, env=environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return result.stdout + result.stderr


def figures(output):
    """The examples and seconds of each test."""
    table = output.partition("examples  seconds  test\n")[2].partition("\n=")[0]
    rows = [line.split() for line in table.splitlines()]
    return {name.partition("::")[2]: (int(n), float(seconds)) for n, seconds, name in rows}


def test_every_test_gets_its_share_and_failures_are_shrunk(tmp_path):
    output = run_pytest(tmp_path, 1.8)
    assert "1 failed, 3 passed, 1 deselected" in output
    assert "n=1234" in output
    found = figures(output)
    assert set(found) == {"test_by_hypothesis", "test_by_hand", "test_that_fails"}
    examples, seconds = found["test_by_hypothesis"]
    assert 5 < examples <= 60  # of at least 0.01 s each, in 0.6 s
    assert seconds < 1.2
    examples, seconds = found["test_by_hand"]
    assert 2 < examples <= 60
    assert 0.5 < seconds < 1.2


def test_workers_add_up(tmp_path):
    output = run_pytest(tmp_path, 1, "-n", "2", "-k", "by_hand")
    assert "2 passed" in output
    examples, seconds = figures(output)["test_by_hand"]
    assert 2 < examples <= 200
    assert 1.9 < seconds < 4  # of two workers, in 1 s


def test_an_ordinary_run_has_a_fixed_number_of_examples(tmp_path):
    output = run_pytest(tmp_path, 0)
    assert "1 failed, 4 passed" in output
    assert "property tests" not in output
