"""The table says what was measured, and why something was not."""

from io import StringIO

import pytest
from benchmarks.harness.record import Record
from benchmarks.harness.table import as_table, share, speed, verdict
from benchmarks.harness.timing import Sample
from benchmarks.harness.units import duration
from rich.console import Console

from tilewright.runtime.peaks import Peaks, halves_as_floats

PEAKS = Peaks(1, {"float32": 1e9}, {"L1": 8e9, "L2": 4e9, "DRAM": 1e9}, {"L1": 100, "L2": 1000})


def record(**fields):
    samples = {"ours": [Sample(1.0, 1.0)] * 3, "theirs": [Sample(2.0, 2.0)] * 3}
    return Record("family", "product", "hand", "numpy", 1, **{**samples, **fields})


def rendered(*records):
    console = Console(file=StringIO(), width=200)
    console.print(as_table(records, {1: PEAKS}, "title"))
    return console.file.getvalue()


def test_a_row_has_the_ratio_the_aim_and_the_speed():
    text = rendered(record(flop=5e8, aim=1.5))
    for part in ("product", "numpy", "1 s", "2 s", "0.5 GFLOP/s", "50% float32", ">= 1.5 met"):
        assert part in text


def test_a_problem_is_a_note():
    text = rendered(
        record(ours=[], theirs=[], problem="WRONG RESULT: off by 1e-2", aim=1.0),
        record(theirs=[], problem="torch is not installed [pip]", aim=1.0),
    )
    assert "WRONG RESULT: off by 1e-2" in text
    assert "torch is not installed [pip]" in text
    assert "missed" in text
    assert "unknown" in text


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"flop": 2e9, "bytes": 10}, "2 GFLOP/s"),
        ({"flop": 2e9, "dtype": "int8"}, "2 GOP/s"),
        ({"bytes": 3e9}, "3 GB/s"),
        ({}, ""),
        ({"ours": [], "flop": 1}, ""),
    ],
)
def test_speed(fields, text):
    assert speed(record(**fields)) == text


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"flop": 5e8, "bytes": 50}, "50% float32"),
        ({"flop": 1, "bytes": 5e8}, "50% DRAM"),
        ({"bytes": 500}, "0% L2"),
        ({"flop": 1e8, "ports": 6e8, "bytes": 50}, "60% ports"),
        ({"flop": 1e8, "ports": 6e8, "bytes": 7e8}, "70% DRAM"),
        ({"flop": 5e8, "dtype": "int4"}, ""),
        ({"ours": [], "flop": 5e8}, ""),
    ],
)
def test_share(fields, text):
    assert share(record(**fields), PEAKS) == text


def test_share_is_unknown_without_peaks():
    assert share(record(flop=1.0), None) == ""


def test_verdict():
    assert verdict(record()) == ""
    assert "missed" in verdict(record(aim=2.1))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.567e-6, "4.57 us"), (8e-9, "8 ns"), (None, "")],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_halves_are_at_least_as_fast_as_floats():
    measured = {"float32": 2.0, "float16": 4.0, "bfloat16": 1.0}
    assert halves_as_floats(measured) == {"float16": 4.0, "bfloat16": 2.0}
    assert halves_as_floats({"float32": 2.0}) == {"float16": 2.0, "bfloat16": 2.0}
    assert halves_as_floats({}) == {}


def test_the_roof_is_the_lower_of_arithmetic_and_memory():
    assert PEAKS.level(100) == "L1"
    assert PEAKS.level(101) == "L2"
    assert PEAKS.level(1e6) == "DRAM"
    assert Peaks(2, {}, PEAKS.bandwidth, PEAKS.capacity).level(200) == "L1"
    assert PEAKS.bound("float32", 1e9, 100).limit == "float32"
    assert PEAKS.bound("float32", 1, 100) == (100 / 8e9, "L1")
    assert PEAKS.bound("int8", 1, 0) is None
