"""The benchmarks run, and their arithmetic is right; what they measure is not tested."""

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.compiler.measure import Figure, seconds, speed_ratios

ROOT = Path(__file__).parents[2]


def test_figures():
    time = Figure("time", [3.0, 1.0, 2.0, 5.0, 4.0], "s", 3.0)
    assert time.median == 3.0
    assert time.quartiles == (2.0, 4.0)
    assert time.reached
    assert not Figure("time", [3.0], "s", 2.0).reached
    assert Figure("ratio", [3.0], "x", 2.0).reached
    assert Figure("no aim", [3.0], "s").reached is None


def test_each_side_is_called_equally_often():
    calls = []
    assert len(seconds(lambda: calls.append("a"), repeat=3, number=2)) == 3
    assert len(calls) == 7
    calls.clear()
    assert len(speed_ratios(lambda: calls.append("a"), lambda: calls.append("b"), 2, 5)) == 2
    assert calls.count("a") == calls.count("b") == 11


def test_some_groups_run(tmp_path):
    output = tmp_path / "figures.json"
    groups = ["calls", "ir", "text", "simplification"]
    options = ["--quick", "--json", str(output), "--only", *groups]
    command = [sys.executable, "-m", "benchmarks", "compiler", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    figures = json.loads(output.read_text())["groups"]
    assert list(figures) == groups
    assert all(row["median"] > 0 for rows in figures.values() for row in rows)
