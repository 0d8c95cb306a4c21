"""Tensor expressions and their schedules compute what numpy computes."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.te.programs import FIXED, chains, schedules

import tilewright.te as te
from tilewright.driver.build_module import lower
from tilewright.error import TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.transform.lower_blocks import lower_blocks

interpret = pytest.importorskip("tilewright.tir.interpreter").interpret


def check(func, program):
    """Run `func`, and compare its outputs."""
    outputs = [np.full(value.shape, 99).astype(value.dtype) for value in program.expected]
    interpret(func, *(value.copy() for value in program.inputs.values()), *outputs)
    for output, expected in zip(outputs, program.expected, strict=True):
        np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("program", [make() for make in FIXED], ids=[f.__name__ for f in FIXED])
def test_fixed_programs(program):
    func = te.create_prim_func(program.args)
    check(func, program)
    check(lower(func), program)
    check(te.create_prim_func(program.args, index_dtype_override="int64"), program)
    check(lower(te.create_schedule([t.op for t in program.outputs]), program.args), program)


@given(chains())
def test_functions_of_blocks(program):
    check(te.create_prim_func(program.args), program)
    check(te.create_prim_func(program.args, index_dtype_override="int64"), program)


@given(st.data())
def test_schedules(data):
    program = data.draw(chains())
    schedule = data.draw(schedules(program.outputs))
    try:
        func = schedule_to_prim_func(schedule, program.args)
    except TEScheduleError as error:
        event(str(error).split(" on stage")[0])
        return
    verify_well_formed(func)
    check(func, program)
    check(lower_blocks(func), program)
    check(lower(schedule, program.args), program)


@given(st.data())
def test_storage_rewrite_and_named_indices_of_functions(data):
    program = data.draw(chains())
    check(lower(te.create_prim_func(program.args)), program)
