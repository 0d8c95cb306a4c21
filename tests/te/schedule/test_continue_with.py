"""Schedules of tensors that go on as schedules of blocks."""

import json

import numpy as np
import pytest
from tests.te.replaying import as_python
from tests.te.schedule.test_trace import product

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.ir.structural import assert_structural_equal, structural_equal
from tilewright.schedule_rules.default import default_schedule
from tilewright.schedule_rules.eligible import has_schedule
from tilewright.te.schedule import InferBound, schedule_to_prim_func

SIZE = 32
TARGET = "llvm -num-cores=1"


@pytest.fixture
def tensors():
    return list(product(SIZE))


def blocks_of(tensors):
    """A schedule of the blocks of tensors, and the trace of its steps."""
    sch = tir.Schedule(te.create_prim_func(tensors))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.vectorize(j)
    return sch


def continued(tensors, trace):
    s = te.create_schedule(tensors[-1].op)
    s.continue_with(trace)
    return s


def test_the_program_is_the_one_that_the_trace_makes(tensors):
    sch = blocks_of(tensors)
    found = tvm.lower(continued(tensors, sch.trace), tensors, name="product")
    expected = sch.mod["main"].with_attrs({"tir.is_scheduled": True, "tir.reassociate": True})
    assert_structural_equal(found, tvm.lower(expected, name="product"))
    assert [function.global_symbol for function in found.functions.values()] == ["product"]


def test_it_is_built_as_the_trace_says(tensors):
    target = tvm.target.Target(TARGET)
    tuned = default_schedule(te.create_prim_func(tensors), target)
    s = continued(tensors, tuned.trace)
    assert_structural_equal(
        tvm.lower(s, tensors), tvm.lower(tuned.mod["main"].with_attr("global_symbol", "main"))
    )
    function = tvm.build(s, tensors, TARGET)
    a, b = np.random.default_rng(0).random((2, SIZE, SIZE), "float32")
    c = np.empty_like(a)
    function(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_an_empty_trace_is_a_schedule_too(tensors):
    s = continued(tensors, tir.Schedule(te.create_prim_func(tensors)).trace)
    assert has_schedule(schedule_to_prim_func(s, tensors))  # so that it gets no default schedule


def test_it_goes_on_where_stages_end(tensors):
    c = tensors[-1]
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], factor=8)
    program = schedule_to_prim_func(s, tensors)
    sch = tir.Schedule(program)
    sch.vectorize(sch.get_loops("C_init")[-1])
    s.continue_with(sch.trace)
    assert_structural_equal(schedule_to_prim_func(s, tensors), sch.mod["main"])


def test_traces_follow_each_other(tensors):
    sch = tir.Schedule(te.create_prim_func(tensors))
    s = continued(tensors, sch.trace)
    sch.reorder(*reversed(sch.get_loops("C")))
    s.continue_with(sch.trace)
    again = tir.Schedule(sch.mod)
    again.unroll(again.get_loops("C")[-1])
    s.continue_with(again.trace)
    assert_structural_equal(
        schedule_to_prim_func(s, tensors).body, again.mod["main"].body, map_free_vars=True
    )


def test_it_is_a_step_of_the_trace(tensors):
    s = continued(tensors, blocks_of(tensors).trace)
    form = json.loads(json.dumps(s.trace.as_json()))
    expected = tvm.lower(s, tensors)
    for apply in (
        as_python(s.trace),
        s.trace.apply_to_schedule,
        lambda other: s.trace.apply_json_to_schedule(form, other),
    ):
        other = te.create_schedule(tensors[-1].op)
        apply(other)
        assert str(other.trace) == str(s.trace)
        assert_structural_equal(tvm.lower(other, tensors), expected)


def test_it_takes_json(tensors):
    form = blocks_of(tensors).trace.as_json()
    expected = tvm.lower(continued(tensors, form), tensors)
    assert_structural_equal(tvm.lower(continued(tensors, json.dumps(form)), tensors), expected)
    assert not structural_equal(tvm.lower(te.create_schedule(tensors[-1].op), tensors), expected)


def test_other_names_and_buffers(tensors):
    sch = tir.Schedule(te.create_prim_func(tensors).with_attr("global_symbol", "product"))
    sch.unroll(sch.get_loops("C")[-1])
    strided = tir.decl_buffer((SIZE, SIZE), name="A", strides=[2 * SIZE, 1])
    s = continued(tensors, sch.trace)
    lowered = tvm.lower(s, tensors, name="other", binds={tensors[0]: strided})
    (function,) = lowered.functions.values()
    assert function.global_symbol == "other"
    assert "unroll" in str(function)


def test_stages_are_not_transformed_afterwards(tensors):
    c = tensors[-1]
    s = continued(tensors, blocks_of(tensors).trace)
    text = str(s.trace)
    for change in (
        lambda: s[c].split(c.op.axis[0], factor=4),
        lambda: s.cache_write(c, "local"),
        lambda: s.sample_categorical([1, 2], [0.5, 0.5]),
    ):
        with pytest.raises(TEScheduleError, match="since continue_with, the schedule is one of"):
            change()
    assert str(s.trace) == text
    with pytest.raises(TEScheduleError, match="InferBound: the schedule is continued"):
        InferBound(s)


def test_steps_that_do_not_apply_are_refused(tensors):
    other = te.compute((SIZE,), lambda i: tensors[0][i, 0], name="column")
    s = te.create_schedule(other.op)
    s.continue_with(blocks_of(tensors).trace)
    with pytest.raises(TEScheduleError, match=r"trace does not apply .*no .*|Cannot find a block"):
        tvm.lower(s, [tensors[0], other])


def test_steps_that_change_the_meaning_are_refused(tensors):
    form = json.loads(
        json.dumps(blocks_of(tensors).trace.as_json()).replace("Vectorize", "Parallel")
    )
    form[0] += [["Parallel", ["l2"], [], []], ["Parallel", ["l3"], [], []]]
    with pytest.raises(TEScheduleError, match="cannot run in parallel"):
        tvm.lower(continued(tensors, form), tensors)


@pytest.mark.parametrize("trace", [None, 3, "steps", "[1, 2, 3]", [[]]])
def test_what_is_no_trace_is_refused(tensors, trace):
    s = te.create_schedule(tensors[-1].op)
    with pytest.raises(ArgumentError, match="continue_with: expected the trace of a"):
        s.continue_with(trace)
    with pytest.raises(ArgumentError):
        s.continue_with(s.trace)
    assert s.continuation is None
    s[tensors[-1]].parallel(tensors[-1].op.axis[0])
