"""Checks of indices while a program runs."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import BoundsError, InterpreterError
from tilewright.script import from_source
from tilewright.tir.interpreter import interpret

SOURCE = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8, 2), "int32"), I: T.Buffer((8,), "int32")):
    for i in {loop}:
{body}
"""


def parsed(body, loop="range(8)"):
    lines = "\n".join(" " * 8 + line for line in body.split("\n"))
    return from_source(SOURCE.format(body=lines, loop=loop))


def checked(func, target="llvm", schedule=False):
    options = {"tir.instrument_bound_checkers": True, "tir.default_schedule": schedule}
    with tvm.transform.PassContext(config=options):
        return tvm.build(func, target=target)


def arguments(index):
    return np.arange(8, dtype="int32"), np.zeros((8, 2), "int32"), np.full(8, index, "int32")


BODIES = [
    "B[i, 0] = A[I[i]]",
    "B[I[i], 1] = A[i]",
    "B[i, I[i]] = A[i]",
    "B[i, 0] = A[A[T.bitwise_and(I[i], 7)] + I[i] // 8 * 8]",
    "if A[I[i]] > 0:\n    B[i, 0] = 1",
    "x = A[I[i]]\nB[i, 0] = x",
    "for j in range(A[I[i]]):\n    B[j % 8, 0] = 1",
    "T.evaluate(A[I[i]])",
    "with T.block('B'):\n    vi = T.axis.spatial(8, i)\n    B[vi, 0] = A[I[vi]]",
    "with T.block('B'):\n    vi = T.axis.spatial(8, i)\n"
    "    L = T.alloc_buffer((4,), 'int32')\n    L[3] = 0\n    L[I[vi] // 2] = A[vi]\n"
    "    B[vi, 0] = L[3]",
    "if i < 2:\n    B[i, 0:2] = A[T.Ramp(I[i], 1, 2)]",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_an_index_that_depends_on_data(body, target):
    func = parsed(body)
    module = checked(func, target)
    for index in (1, 0, 8, -1, 2**31 - 1, -(2**31), 6, 7):
        values, expected = arguments(index), arguments(index)
        try:
            interpret(func, *expected, check_reads=False)
        except InterpreterError:
            with pytest.raises(BoundsError, match=r"f: index [01] of [ABL] is -?\d+, outside of"):
                module(*values)
        else:
            module(*values)
            np.testing.assert_array_equal(values[1], expected[1])


@pytest.mark.parametrize(
    "body",
    [
        "B[i, 0] = T.if_then_else(0 <= I[i] and I[i] < 8, A[I[i]], 0)",
        "B[i, 0] = T.Select(0 <= I[i] and I[i] < 8, A[T.max(T.min(I[i], 7), 0)], 0)",
        "if 0 <= I[i] and I[i] < 8 and A[I[i]] >= 0:\n    B[i, 0] = A[I[i]]",
        "if I[i] < 0 or I[i] >= 8 or A[I[i]] < 0:\n    B[i, 0] = 7",
    ],
)
def test_what_a_condition_protects(body):
    func = parsed(body)
    for schedule in (False, True):
        module = checked(func, schedule=schedule)
        for index in (0, 7, 8, -1):
            values, expected = arguments(index), arguments(index)
            interpret(func, *expected)
            module(*values)
            np.testing.assert_array_equal(values[1], expected[1])


@pytest.mark.parametrize("loop", ["T.parallel(8)", "T.vectorized(8)", "T.unroll(8)"])
def test_other_kinds_of_loops(loop):
    module = checked(parsed("B[i, 0] = A[I[i]]", loop))
    module(*arguments(7))
    with pytest.raises(BoundsError, match="index 0 of A is 8, outside of its extent 8"):
        module(*arguments(8))


def test_a_condition_of_a_while_loop_is_checked_each_time():
    func = parsed("B[i, 0] = 0\nwhile A[B[i, 0] + I[i]] < 100:\n    B[i, 0] = B[i, 0] + 1")
    with pytest.raises(BoundsError, match="index 0 of A is 8"):
        checked(func)(*arguments(0))


def test_symbolic_extents():
    func = from_source("""
@T.prim_func
def f(a: T.handle, k: T.int32):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int32")
    A[k] = 1
""")
    module = checked(func)
    module(np.zeros(3, "int32"), 2)
    with pytest.raises(BoundsError, match="index 0 of A is 3, outside of its extent 3"):
        module(np.zeros(3, "int32"), 3)
