"""Numbers as people read them."""

import pytest

from tilewright.tune.report import quantities
from tilewright.tune.report.chart import Scale


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.5, "2.50 s"), (1.234e-2, "12.3 ms"), (1e-6, "1.00 \u00b5s"), (5e-10, "0.500 ns")],
)
def test_seconds(value, expected):
    assert quantities.seconds(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.5, "1.50 s"), (75.3, "1 min 15 s"), (3600, "1 h 0 min"), (7325, "2 h 2 min")],
)
def test_durations(value, expected):
    assert quantities.duration(value) == expected


def test_amounts():
    assert quantities.rate(1.7e11) == "170 GFLOP/s"
    assert quantities.amount(3072, "B") == "3.07 kB"
    assert quantities.amount(12, "B") == "12.0 B"
    assert (quantities.count(1, "task"), quantities.count(0, "task")) == ("1 task", "0 tasks")
    assert quantities.digits(0) == "0"


@pytest.mark.parametrize(
    "scale",
    [
        Scale(1e-9, 1.0, 0, 100),
        Scale(8.4e-6, 9.3e-6, 0, 100),
        Scale(3.0, 400.0, 100, 0),
        Scale(0.5, 97.5, 0, 100, is_log=False),
        Scale(0.5, 2.5, 0, 100, is_log=False),
    ],
)
def test_ticks_are_in_the_range_and_neither_few_nor_many(scale):
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(scale.low <= tick <= scale.high for tick in ticks)
    assert sorted(ticks) == ticks
    places = [scale(tick) for tick in ticks]
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in places)
