"""Workloads by name."""

import json

import pytest
from tests.auto_scheduler.programs import small_conv2d, small_matmul

from tilewright import auto_scheduler, te
from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError

KEY = '["small_matmul", 4, 5, 6]'


def scaled(x, factor):
    return [x, te.compute(x.shape, lambda *i: x(*i) * factor, name="scaled")]


def test_a_key_names_the_function_and_its_arguments():
    assert auto_scheduler.make_workload_key(small_matmul, (4, 5, 6)) == KEY
    assert auto_scheduler.make_workload_key("small_matmul", [4, 5, 6]) == KEY
    key = auto_scheduler.make_workload_key(small_conv2d, (8, 7, (1, 1), (1, 1)))
    assert json.loads(key) == ["small_conv2d", 8, 7, [1, 1], [1, 1]]


def test_a_key_makes_the_tensors():
    a, b, c = auto_scheduler.workload_key_to_tensors(KEY)
    assert (a.name, b.name, c.name) == ("A", "B", "C")
    assert [int(n) for n in c.shape] == [4, 5]
    *_, out = auto_scheduler.workload_key_to_tensors('["small_conv2d", 8, 7, [1, 1], [1, 1]]')
    assert [int(n) for n in out.shape] == [1, 8, 7, 7]


def test_tensors_among_the_arguments_stand_for_inputs():
    auto_scheduler.register_workload("scaled", scaled, override=True)
    key = auto_scheduler.make_workload_key("scaled", (te.placeholder((3, 4), "float16"), 2.5))
    assert key == '["scaled", ["TENSOR", [3, 4], "float16"], 2.5]'
    x, y = auto_scheduler.workload_key_to_tensors(key)
    assert str(x.dtype) == "float16"
    assert y.op.input_tensors == (x,)


def test_ways_to_register():
    @auto_scheduler.register_workload("another name")
    def first():
        return [te.placeholder((1,))]

    assert auto_scheduler.make_workload_key("another name") == '["another name"]'
    assert auto_scheduler.make_workload_key(first) == '["another name"]'
    auto_scheduler.register_workload("another name", first)  # it is the same
    with pytest.raises(ArgumentValueError, match="'another name' already; choose another"):
        auto_scheduler.register_workload("another name", scaled)
    auto_scheduler.register_workload("another name", scaled, override=True)
    with pytest.raises(ArgumentError, match="expected a function or a name, got 3"):
        auto_scheduler.register_workload(3)
    with pytest.raises(ArgumentError, match="is to be a function"):
        auto_scheduler.register_workload("a name", 3)


def test_a_function_that_is_not_registered():
    with pytest.raises(UnknownNameError, match=r"(?s)'small_matmull' is not .*'small_matmul'"):
        auto_scheduler.make_workload_key("small_matmull", (1, 2, 3))
    with pytest.raises(UnknownNameError, match="decorate the function"):
        auto_scheduler.workload_key_to_tensors('["unheard of", 1]')

    def unregistered():
        return []

    with pytest.raises(UnknownNameError, match="'unregistered' is not registered"):
        auto_scheduler.make_workload_key(unregistered)


def test_a_definition_that_is_run_again():
    def define(factor):
        @auto_scheduler.register_workload
        def scaled_again(n):
            x = te.placeholder((n,), name="x")
            return [x, te.compute((n,), lambda i: x[i] * factor, name="y")]

        return scaled_again

    old, new = define(2.0), define(3.0)
    assert auto_scheduler.make_workload_key(new, (4,)) == '["scaled_again", 4]'
    _, y = auto_scheduler.workload_key_to_tensors('["scaled_again", 4]')
    assert "3.0" in str(y.op.body[0])
    with pytest.raises(ArgumentValueError, match="another function is registered as 'scaled_ag"):
        auto_scheduler.make_workload_key(old, (4,))


@pytest.mark.parametrize("key", ["", "matmul", "{}", "[]", "[3]", None, 3])
def test_what_is_no_key(key):
    with pytest.raises(ArgumentValueError, match="a workload key is a list in JSON"):
        auto_scheduler.workload_key_to_tensors(key)


def test_what_is_no_argument():
    with pytest.raises(ArgumentError, match="arguments of 'small_matmul' are numbers"):
        auto_scheduler.make_workload_key("small_matmul", (object(),))


def test_a_function_that_returns_no_tensors():
    auto_scheduler.register_workload("nothing", lambda: None, override=True)
    with pytest.raises(ArgumentError, match=r"is to return a list of tensors.* it returned None"):
        auto_scheduler.workload_key_to_tensors('["nothing"]')
