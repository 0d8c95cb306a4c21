"""Calls with arrays that share memory, where the function takes them to be distinct."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.script import from_source


def shifted(rows=4):
    """``C[i] = A[i] + B[rows - 1 - i]``, built from a tensor expression."""
    a, b = te.placeholder((rows,), name="A"), te.placeholder((rows,), name="B")
    c = te.compute((rows,), lambda i: a[i] + b[rows - 1 - i], name="C")
    return tvm.build(te.create_schedule(c.op), [a, b, c], name="shifted")


def test_what_is_written_overlaps_nothing():
    x, y = np.arange(4, dtype="f4"), np.zeros(8, "f4")
    function = shifted()
    function(x, x, y[:4])  # nobody writes x
    function(y[:4], x, y[4:])  # neighbours
    for arguments, first, second in (
        ((x, y[:4], x), "1 (A)", "3 (C)"),
        ((y[:4], x, x), "2 (B)", "3 (C)"),
        ((x, y[2:6], y[:4]), "2 (B)", "3 (C)"),
        ((y[0:4], x, y[3:7]), "1 (A)", "3 (C)"),
    ):
        with pytest.raises(ArgumentValueError) as caught:
            function(*arguments)
        message = str(caught.value)
        assert (
            f"shifted: argument {second}: the array shares memory with argument {first}" in message
        )
    assert isinstance(caught.value, ValueError)


SOURCE = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    T.func_attr({attrs})
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32"{layout})
    B = T.match_buffer(b, (n,), "int32"{layout})
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[n - 1 - vi] = A[vi]
"""


def reversing(attrs="{}", layout=""):
    return tvm.build(from_source(SOURCE.format(attrs=attrs, layout=layout)))


def test_a_function_without_the_promise_runs_as_written():
    memory = np.arange(6, dtype="int32")
    reversing()(memory[:5], memory[1:])
    expected = list(range(6))
    for i in range(5):
        expected[1 + 4 - i] = expected[i]
    assert memory.tolist() == expected


def test_symbolic_sizes():
    function = reversing('{"tir.noalias": True}')
    memory = np.arange(6, dtype="int32")
    function(memory[:3], memory[3:])
    assert memory.tolist() == [0, 1, 2, 2, 1, 0]
    function(memory[:0], memory[:0])
    with pytest.raises(ArgumentValueError, match=r"argument 2 \(B\): the array shares memory"):
        function(memory[:4], memory[2:])


def test_views_that_interleave():
    function = reversing('{"tir.noalias": True}', ", strides=(2,)")
    memory = np.arange(6, dtype="int32")
    function(memory[::2], memory[1::2])
    assert memory.tolist() == [0, 4, 2, 2, 4, 0]
    with pytest.raises(ArgumentValueError, match="shares memory"):
        function(memory[::2], memory[::2])
