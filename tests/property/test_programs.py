"""Random programs mean the same in all forms: printed and parsed, and after each step of lowering.

Floats in these programs are small whole numbers, so the results must agree to the last bit even
where a step changes the order of a sum.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.counts import count_program
from tests.passes import applied, legalize_for, lower
from tests.property.harness import assert_same_outcome, outcome
from tests.property.programs import Features, programs

from tilewright.driver.pipeline import legalization, lowering
from tilewright.ir.structural import assert_structural_equal, structural_equal
from tilewright.ir.transform import Sequential
from tilewright.script import parse
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.machine import Machine
from tilewright.tir.transform.passes import RemoveNoOp, Simplify

pytestmark = pytest.mark.budget(2)

ANY_FLOAT = Features(exact=False, dtypes=(*Features().dtypes, "bfloat16"))


@given(programs(ANY_FLOAT))
def test_programs_are_well_defined(program):
    first = outcome(program.func, program, check_reads=True)
    assert_same_outcome(outcome(program.func, program, reverse_parallel=True), first)
    count_program("interpreted, parallel loops in both directions")


@given(programs(ANY_FLOAT))
def test_printed_programs_parse_back(program):
    parsed = parse(program.func.script())
    assert_structural_equal(parsed, program.func)
    count_program("printed and parsed")


@pytest.mark.budget(10)
@given(programs())
def test_steps_to_the_lowered_form(program):
    expected = outcome(program.func, program)
    func = program.func
    for step in lowering().passes:
        before, func = func, applied(step, func)
        try:
            if func is not before:
                assert_same_outcome(outcome(func, program), expected)
        except Exception as error:
            raise AssertionError(f"after {step.name}:\n{func.script()}") from error
        count_program(f"lowered by {step.name}")


@given(programs(), st.sampled_from([128, 256, 512]), st.booleans())
def test_steps_to_the_codegen_form(program, vector_bits, has_fma):
    expected = outcome(program.func, program)
    func = lower(program.func)
    for step in legalization(Machine(vector_bits, has_fma=has_fma)).passes:
        before, func = func, applied(step, func)
        try:
            if func is not before:
                assert_same_outcome(outcome(func, program), expected)
        except Exception as error:
            raise AssertionError(f"after {step.name}:\n{func.script()}") from error
    count_program("legalized, step by step")


@given(programs())
def test_simplified_programs(program):
    expected = outcome(program.func, program)
    simple = applied(Simplify(), program.func)
    assert_same_outcome(outcome(simple, program), expected)
    steps = (Simplify(), RemoveNoOp(), Simplify())
    assert_same_outcome(outcome(applied(Sequential(steps), lower(simple)), program), expected)
    count_program("simplified")


@given(programs())
def test_lowered_programs_parse_back(program):
    func = legalize_for(lower(program.func))
    if structural_equal(parse(func.script()), func):
        count_program("printed in codegen form and parsed")
        return
    # Names of variables may decide what is printed; what it means must stay.
    arguments = program.make_arguments()
    interpret(parse(func.script()), *arguments)
