"""Sides in processes of their own, of which all but one are stopped."""

import os
import sys
from pathlib import Path

import pytest
from benchmarks.harness.sides import Side, measure_sides, sides

ROOT = Path(__file__).parents[3]
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
ENVIRONMENT = {**os.environ, "PYTHONPATH": PATHS}


def command(body):
    """A side whose call is `body`, a line of Python."""
    code = f"""
import threading, time
from benchmarks.harness.sides import Readiness, serve
def call():
    {body}
serve(Readiness(error=0.5, dtype="int8"), call, threads=2)
"""
    return [sys.executable, "-c", code]


def state_of(side):
    """What the kernel says that a process does: T if it is stopped."""
    text = Path(f"/proc/{side.process.pid}/stat").read_text()
    return text.rpartition(")")[2].split()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_only_the_side_that_is_timed_runs():
    with sides([command("pass"), command("time.sleep(0.001)")], ENVIRONMENT) as (one, other):
        assert one.readiness.error == 0.5
        assert other.readiness.dtype == "int8"
        assert [state_of(side) for side in (one, other)] == ["T", "T"]
        assert other.run(3).wall >= 0.001
        assert [state_of(side) for side in (one, other)] == ["T", "T"]
        samples = measure_sides([one, other], 2, 1, 1e-4, 1.0)
        assert 2 <= len(samples[0]) == len(samples[1]) <= 6  # more where others disturb
    assert one.process.returncode is not None


def test_a_side_that_does_not_get_ready_says_so():
    side = Side([sys.executable, "-c", "raise SystemExit(3)"], ENVIRONMENT)
    assert side.readiness.problem == "its process ended"
    side.close()


def test_a_side_that_fails_while_it_is_timed_is_an_error():
    with (
        sides([command("raise SystemExit(3)")], ENVIRONMENT) as (side,),
        pytest.raises(RuntimeError, match="ended with 3"),
    ):
        side.run(1)
