"""What holds of all graph operators."""

import inspect
import re
from pathlib import Path

import pytest

import tilewright.relax.op as op
from tilewright.relax.op import base
from tilewright.relax.op.table import OPERATORS

ENTRIES = {
    entry.op.name.removeprefix("relax."): entry
    for entry in OPERATORS.values()
    if not entry.op.name.startswith("relax.test.")
}
TESTS = "\n".join(
    path.read_text()
    for path in Path(__file__).parents[1].rglob("test_*.py")
    if path != Path(__file__)
)


def function_of(name):
    found = op
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", ENTRIES)
def test_every_operator_is_run_by_a_test(name):
    last = name.rpartition(".")[2]
    assert re.search(rf"\b{last}\(|\.{last}\b|[\"']{last}[\"']", TESTS), "no test names it"


@pytest.mark.parametrize("name", ENTRIES)
def test_every_operator_has_a_documented_function(name):
    function = function_of(name)
    assert function.__name__ == name.rpartition(".")[2]
    assert function.__doc__


@pytest.mark.parametrize("name", [name for name in ENTRIES if getattr(base, name, None) is None])
def test_a_function_takes_the_operands_of_its_operator_first(name):
    parameters = list(inspect.signature(function_of(name)).parameters)
    operands = [argument.rstrip("*") for argument in ENTRIES[name].arguments]
    if name == "einsum":  # takes any number of them, and then a name
        assert set(operands) <= set(parameters)
    else:
        assert parameters[: len(operands)] == operands
