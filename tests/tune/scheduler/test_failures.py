"""Failures and their reasons."""

from __future__ import annotations

from tilewright.tune.scheduler.task_record import FailureTally


def test_reasons_are_counted_and_the_first_message_is_the_example():
    tally = FailureTally()
    for kind, message in (("run", "first"), ("build", "b"), ("run", "second"), (None, None)):
        tally.add(kind, message)
    assert str(tally) == "2 run, 1 build, 1 unknown"
    assert tally.total == 4
    assert "2 x run, for example:\n    first" in tally.describe()
    assert "1 x unknown, for example:\n    (no message)" in tally.describe()


def test_long_messages_are_shortened_in_the_middle():
    tally = FailureTally()
    tally.add("build", "\n".join(f"line {i}" for i in range(100)))
    text = tally.describe()
    assert "line 5\n    ...\n    line 94" in text
    assert "line 50" not in text
