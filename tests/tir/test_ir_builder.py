"""`tir.ir_builder`: statements from Python calls."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, DiagnosticError, ShapeError


def run(build, *inputs, shape=None):
    """What an extern computes from arrays; `build` gets the builder and the elements."""
    tensors = [te.placeholder(x.shape, str(x.dtype), name=f"x{n}") for n, x in enumerate(inputs)]

    def fcompute(ins, outs):
        ib = tir.ir_builder.create()
        build(ib, *map(ib.buffer_ptr, (*ins, *outs)))
        return ib.get()

    result = te.extern([shape or inputs[0].shape], tensors, fcompute, dtype="float32", name="y")
    found = np.full(shape or inputs[0].shape, 9, "float32")
    module = tvm.build(te.create_schedule(result.op), [*tensors, result], "llvm")
    module(*inputs, found)
    return found


VALUES = np.arange(12, dtype="float32")


def test_loops_and_conditions():
    def build(ib, x, y):
        with ib.for_range(0, 12, name="i") as i:
            with ib.if_scope(ib.likely(i >= 2)):
                y[i] = x[i - 2] * 2
            with ib.else_scope():
                y[i] = 1
        y[0] = -1.0

    expected = np.r_[-1, 1, VALUES[:-2] * 2]
    np.testing.assert_array_equal(run(build, VALUES), expected)


@pytest.mark.parametrize("kind", ["serial", "parallel", "vectorize", "unroll"])
def test_kinds_of_loops(kind):
    def build(ib, x, y):
        with ib.for_range(4, 12, kind=kind, dtype="int64") as i:
            y[i] = x[i] + 1
        with ib.for_range(0, 4) as i:
            y[i] = x[i]

    np.testing.assert_array_equal(run(build, VALUES), np.r_[VALUES[:4], VALUES[4:] + 1])


def test_while_memory_and_let():
    def build(ib, x, y):
        state = ib.allocate("int32", (2,), name="state", scope="local")
        state[0], state[1] = 0, 1
        with ib.while_loop(state[0] < 12):
            position = ib.let("position", state[0])
            y[position] = x[position] * state[1]
            state[1] = state[1] * 2
            state[0] = position + 1

    np.testing.assert_array_equal(run(build, VALUES), VALUES * 2.0 ** np.arange(12))


def test_several_dimensions_and_one_index():
    def build(ib, x, y):
        with ib.for_range(0, 3) as i, ib.for_range(0, 4) as j:
            y[i, j] = x[i * 4 + j]
        flat = ib.buffer_ptr(x._buffer, shape=(12,))
        y[2, 3] = flat[5]

    expected = VALUES.reshape(3, 4).copy()
    expected[2, 3] = 5
    np.testing.assert_array_equal(run(build, VALUES.reshape(3, 4)), expected)


def test_attributes_and_scopes():
    ib = tir.ir_builder.create()
    thread = te.thread_axis("threadIdx.x")
    ib.scope_attr(thread, "thread_extent", 32)
    with ib.new_scope():
        memory = ib.allocate("float32", 32, name="memory", scope="shared")
        memory[thread] = 0.0
        ib.emit(tir.call_extern("int32", "use", memory.asobject()))
    ib.emit(tir.Evaluate(0))
    text = ib.get().script()
    assert text.index("launch_thread") < text.index("allocate") < text.index('"use"')
    assert text.endswith("T.evaluate(0)")


def test_mistakes():
    ib = tir.ir_builder.create()
    with (
        pytest.raises(DiagnosticError, match="follows directly after an if_scope"),
        ib.else_scope(),
    ):
        pass
    with pytest.raises(ArgumentError, match="the kind is one of"), ib.for_range(0, 4, kind="fast"):
        pass
    with pytest.raises(ArgumentError, match="buffer_ptr takes a buffer, got 3"):
        ib.buffer_ptr(3)
    with pytest.raises(ArgumentError, match="emit takes a statement"):
        ib.emit(3)
    with pytest.raises(ShapeError, match="has 2 dimensions, got 3 indices"):
        ib.allocate("int32", (2, 2))[0, 0, 0]
    with ib.for_range(0, 4), pytest.raises(DiagnosticError, match="inside of an open scope"):
        ib.get()
