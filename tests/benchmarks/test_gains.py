"""How the gain of tuning is measured, on a few trials."""

import pytest
from benchmarks.gains import command
from benchmarks.gains.works import MODELS, PROGRAMS, residual_network, transformer


def test_a_program(capsys):
    command.main(["--only", "sum of rows", "--trials", "2", "--rounds", "3"])
    text = capsys.readouterr().out
    assert "sum of rows 517x1021" in text
    assert "ratio" in text


def test_a_model(monkeypatch):
    assert transformer(1, 12, 3, 5).functions
    assert residual_network((4, 8), 12, 1, 3).functions
    monkeypatch.setitem(MODELS, "small", lambda: residual_network((4,), 12, 1, 3))
    options = command.parser().parse_args(["--trials", "3", "--rounds", "3"])
    gain = command._model("small", options)
    assert gain.records > 0
    assert len(gain.ratios) == 3


def test_works_have_names_that_say_their_sizes():
    assert len(PROGRAMS) == 10
    assert all(any(letter.isdigit() for letter in name) for name in [*PROGRAMS, *MODELS])
    with pytest.raises(SystemExit):
        command.main(["--only", "nothing like that"])
