"""What is printed parses back to an equal program."""

import pytest
from tests.script.programs import PROGRAMS

from tilewright.ir import IRModule
from tilewright.ir.structural import assert_structural_equal
from tilewright.script import from_source


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("options", [{}, {"syntax_sugar": False}, {"verbose_expr": True}], ids=str)
def test_parse_of_print_is_equal(name, options):
    program = from_source(PROGRAMS[name])
    text = program.script(**options)
    again = from_source(text)
    if isinstance(program, IRModule):
        assert again.functions.keys() == program.functions.keys()
        for variable, function in program.functions.items():
            assert_structural_equal(again[variable], function)
        assert dict(again.attrs).keys() == dict(program.attrs).keys()
    else:
        assert_structural_equal(again, program)
    assert again.script(**options) == text
