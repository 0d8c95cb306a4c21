"""Names of the package, and what is meant by names that are none."""

import subprocess
import sys

import pytest

from tilewright import autotvm


def test_all_names_are_there():
    for name in dir(autotvm):
        assert getattr(autotvm, name) is not None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("space", r"task\.config_space.*autotvm\.task\.space.*SpaceGenerator is a class of meta"),
        ("apply_graph_best", "apply_history_best"),
        ("tophub", "no configs are downloaded"),
        ("nothing", "has no attribute 'nothing'$"),
    ],
)
def test_names_that_are_none(name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(autotvm, name)


def test_functions_of_other_systems():
    with pytest.raises(AttributeError, match=r"tuned without templates, by meta_schedule\.relax"):
        autotvm.task.extract_from_program
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        autotvm.task.nothing


def test_the_package_is_loaded_when_it_is_needed():
    text = "import tilewright, sys; assert 'tilewright.autotvm' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True)
