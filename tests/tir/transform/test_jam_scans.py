"""Rows of scans side by side: what becomes of them, and which are left alone."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, topi
from tilewright.ir.rewrite import walk
from tilewright.script import tir as T
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import Allocate, For
from tilewright.tir.transform.unroll_and_jam import unroll_and_jam


def scan(rows, length, stride, noalias=True):
    """Running sums of rows that begin `stride` elements apart."""

    @T.prim_func
    def program(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
        T.func_attr({"tir.noalias": noalias})
        for i in range(rows):
            own = T.allocate([1], "float32", "local")
            C = T.Buffer((1,), data=own, scope="local")
            C[0] = A[i * stride]
            B[i * stride] = C[0]
            for k in range(length - 1):
                C[0] = C[0] + A[i * stride + k + 1]
                B[i * stride + k + 1] = C[0]

    return program


def loops(func):
    """The extents of the loops, outermost first."""
    return [node.extent.value for node in walk(func.body) if isinstance(node, For)]


def results(func):
    a = np.random.default_rng(0).standard_normal(4096, "float32")
    b = np.zeros(4096, "float32")
    interpret(func, a, b)
    return b


@pytest.mark.parametrize(
    ("rows", "extents"),
    [(8, [6]), (16, [2, 6]), (3, [6]), (11, [6, 6]), (17, [2, 6, 1, 6]), (27, [3, 6, 6])],
)
def test_rows_share_the_loop_over_steps(rows, extents):
    func = scan(rows, 7, 9)
    jammed = unroll_and_jam(func)
    assert loops(jammed) == extents
    np.testing.assert_array_equal(results(jammed), results(func))
    pointers = [node.buffer_var for node in walk(jammed.body) if isinstance(node, Allocate)]
    assert len(set(pointers)) == len(pointers)


@pytest.mark.parametrize(
    "func",
    [
        scan(8, 7, 6),  # a row begins where the one before it is written last
        scan(8, 7, 7, noalias=False),
        scan(1, 7, 7),
    ],
)
def test_rows_that_may_depend_on_each_other_are_left_alone(func):
    assert unroll_and_jam(func) is func


def test_rows_that_read_what_others_write_are_left_alone():
    @T.prim_func
    def func(B: T.Buffer((64,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(7):
            own = T.allocate([1], "float32", "local")
            C = T.Buffer((1,), data=own, scope="local")
            C[0] = B[i * 8]
            for k in range(8):
                C[0] = C[0] + B[i * 8 + k]
                B[i * 8 + 8 + k] = C[0]

    assert unroll_and_jam(func) is func


def test_steps_that_are_no_chain_are_left_alone():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(8):
            own = T.allocate([1], "float32", "local")
            C = T.Buffer((1,), data=own, scope="local")
            C[0] = A[i * 8]
            for k in range(8):
                B[i * 8 + k] = C[0] + A[i * 8 + k]

    assert unroll_and_jam(func) is func


def test_parallel_rows_are_left_for_threads():
    @T.prim_func
    def func(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in T.parallel(256):
            own = T.allocate([1], "float32", "local")
            C = T.Buffer((1,), data=own, scope="local")
            C[0] = A[i * 16]
            B[i * 16] = C[0]
            for k in range(15):
                C[0] = C[0] + A[i * 16 + k + 1]
                B[i * 16 + k + 1] = C[0]

    jammed = unroll_and_jam(func)
    assert loops(jammed) == [64, 15]
    np.testing.assert_array_equal(results(jammed), results(func))


@pytest.mark.parametrize("shape", [(5, 3), (8, 1), (31, 33), (2, 3, 40)])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums(shape, exclusive):
    x = te.placeholder(shape, name="x")
    func = te.create_prim_func([x, topi.cumsum(x, axis=-1, exclusive=exclusive)])
    a = np.random.default_rng(0).standard_normal(shape, "float32")
    b = np.zeros(shape, "float32")
    tvm.build(func, target="llvm")(a, b)
    expected = np.cumsum(a, axis=-1)
    if exclusive:
        expected = np.concatenate([np.zeros_like(a[..., :1]), expected[..., :-1]], axis=-1)
    np.testing.assert_array_equal(b, expected)
