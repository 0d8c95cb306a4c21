"""Printed text parses back to what was printed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ir.random_trees import random_function

from tilewright import script
from tilewright.ir import IRModule, assert_structural_equal
from tilewright.ir.structural import structural_equal


def check(function):
    text = function.script()
    again = script.from_source(text)
    if not structural_equal(function, again):
        pytest.fail(f"{text}\n\nparses to\n\n{again.script()}\n\n{mismatch(function, again)}")
    assert again.script() == text


def mismatch(function, again):
    try:
        assert_structural_equal(function, again)
    except ValueError as error:
        return str(error).split("\n", 1)[0]
    return ""


@given(st.integers(0, 2**32))
def test_random_functions(seed):
    check(random_function(seed))


@given(st.integers(0, 2**32))
def test_random_modules(seed):
    functions = {f"f{k}": random_function(seed + k, depth=2) for k in range(2)}
    functions = {k: f.with_attr("global_symbol", k) for k, f in functions.items()}
    module = IRModule(functions, {"level": 1})
    again = script.from_source(module.script())
    assert_structural_equal(module, again)
