"""Options that the functions for tuning share."""

from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError

import pytest

from tilewright import meta_schedule as ms
from tilewright.error import ArgumentValueError
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.options import SearchOptions, TuneOptions, takes


@takes(options=TuneOptions, search=SearchOptions)
def tune(program, max_trials_global, *, options, search, special=None):
    """Tune.

    Args:
        program: the program.
        max_trials_global: an own description.
        options: see there.
        search: see there.
    """
    return program, max_trials_global, options, search, special


def test_the_function_gets_objects():
    program, trials, options, search, special = tune("p", 8, patience=3, seed=1, special=5)
    assert (program, trials, special) == ("p", 8, 5)
    assert options == TuneOptions(max_trials_global=8, patience=3)
    assert search == SearchOptions(seed=1)
    with pytest.raises(FrozenInstanceError):
        options.patience = 2


def test_the_signature_and_the_docstring_name_the_fields():
    names = list(inspect.signature(tune).parameters)
    assert names[:4] == ["program", "max_trials_global", "special", "max_trials_per_task"]
    assert names[-1] == "seed"
    lines = tune.__doc__.splitlines()
    assert "    max_trials_global: an own description." in lines
    assert (
        "    patience: number of trials without a gain after which a task ends; None for no limit."
        in lines
    )
    assert sum("max_trials_global:" in line for line in lines) == 1
    assert lines[-1].startswith("    seed: of all random choices")


@pytest.mark.parametrize("function", [ms.tune_tir, ms.tune_tasks, ms.relax_integration.tune_relax])
def test_every_parameter_of_a_public_function_is_described(function):
    for name in inspect.signature(function).parameters:
        assert f"    {name}: " in function.__doc__


def test_unknown_options():
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_second'"):
        tune("p", 8, max_second=1)
    with pytest.raises(TypeError, match="missing a required argument: 'max_trials_global'"):
        tune("p")


def test_places_for_files(tmp_path):
    options = TuneOptions(max_trials_global=1, report=True)
    assert options.report_path(tmp_path) == tmp_path / "report.html"
    with pytest.raises(ArgumentValueError, match="needs a `work_dir`; or name a file"):
        options.report_path(None)
    with pytest.raises(ArgumentValueError, match="needs a `work_dir`; database='memory'"):
        options.made_database(None)
    memory = TuneOptions(max_trials_global=1, database="memory")
    assert isinstance(memory.made_database(None), MemoryDatabase)
    assert memory.report_path(None) is None
