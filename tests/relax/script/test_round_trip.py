"""What is printed parses to the same, whatever a graph function is made of."""

import pytest
from hypothesis import given, settings
from tests.relax.script.random_graphs import random_modules

from tilewright.ir import assert_structural_equal
from tilewright.script import from_source


@settings(max_examples=25, deadline=None)
@given(random_modules())
def test_random_functions(module):
    text = module.script(show_meta=True)
    # Random functions call tensor programs that the module does not have.
    again = from_source(text, check_well_formed=False)
    try:
        assert_structural_equal(again, module)
    except ValueError as error:
        pytest.fail(f"{text}\n\nparses to\n\n{again.script()}\n\n{str(error).splitlines()[0]}")
    assert again.script(show_meta=True) == text
