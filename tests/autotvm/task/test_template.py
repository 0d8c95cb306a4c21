"""Templates of two parts: what is computed, and its schedule."""

import numpy as np
import pytest
from tests.autotvm.templates import dense, schedule_dense

import tilewright as tvm
from tilewright import autotvm, te, topi
from tilewright.error import ArgumentValueError, UnknownNameError


@pytest.fixture
def tensors():
    return te.placeholder((4, 6), name="data"), te.placeholder((8, 6), name="weight")


def test_a_task(tensors):
    task = autotvm.task.create("tests/dense", tensors, "llvm")
    assert task.workload == (
        "tests/dense", ("TENSOR", (4, 6), "float32"), ("TENSOR", (8, 6), "float32"),
    )  # fmt: skip
    assert len(task.config_space) == 4
    assert task.flop == 2 * 4 * 6 * 8
    a, b = np.random.rand(4, 6).astype("float32"), np.random.rand(8, 6).astype("float32")
    arrays = [tvm.nd.array(x) for x in (a, b, np.zeros((4, 8), "float32"))]
    s, args = task.instantiate(task.config_space.get(2))
    tvm.build(s, args, "llvm")(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), a @ b.T, rtol=1e-5)


def test_the_schedule_finds_the_config_of_what_was_computed(tensors):
    task = autotvm.task.create("tests/dense", tensors, "llvm")
    context = autotvm.ApplyHistoryBest()
    target = tvm.target.Target("llvm")
    context.update(target, task.workload, task.config_space.get(2))
    with context, target:
        out = dense(*tensors)
        assert autotvm.task.get_workload([out]) == task.workload
        relu = topi.nn.relu(out)
        s = schedule_dense(relu)
    bounds = te.schedule.InferBound(s)
    assert [bounds[loop].extent.value for loop in s[relu].leaf_iter_vars] == [4, 2, 4]


def test_a_schedule_of_something_else(tensors):
    with pytest.raises(ArgumentValueError, match=r"none of .'data'. comes from a function of"):
        schedule_dense([tensors[0]])


def test_a_part_that_is_missing(tensors):
    autotvm.register_topi_compute("tests/half", lambda cfg, data: data)
    with pytest.raises(UnknownNameError, match=r"no schedule function.*register_topi_schedule"):
        autotvm.task.create("tests/half", tensors[:1], "llvm")
