"""Symbolic loops of schedules of tensor expressions, and the dtype that counts them."""

from typing import Any

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.error import ProgramAssertionError, TEScheduleError
from tilewright.tir.interpreter import interpret
from tilewright.tir.stmt import For

n, m = te.var("n"), te.var("m")
A = te.placeholder((n,), name="A")
D = te.placeholder((m,), name="D")


def loop_dtypes(schedule, args):
    loops = [
        stmt for stmt in tvm.ir.walk(tvm.lower(schedule, args)["main"]) if isinstance(stmt, For)
    ]
    return {loop.loop_var.name: str(loop.loop_var.dtype) for loop in loops}


def split(stage, axis, kind, count):
    return stage.split(axis, *((count, None) if kind == "factor" else (None, count)))


def outer_sum():
    """Sums over n * m terms, of which no argument has as many elements."""
    k = te.reduce_axis((0, m), "k")
    C: Any = te.compute((n,), lambda i: te.sum(A[i] + D[k], k), name="C")
    return C, te.create_schedule([C.op])


def test_a_fused_loop_that_no_argument_limits_counts_in_int64():
    C, s = outer_sum()
    fused = s[C].fuse(*C.op.axis, *C.op.reduce_axis)
    assert str(fused.dtype) == "int64"
    s[C].split(fused, 8)
    dtypes = loop_dtypes(s, [A, D, C])
    assert dtypes["i_k_fused_outer"] == dtypes["i_k_fused_inner"] == "int64"
    run = tvm.build(s, [A, D, C], target="llvm")
    a, d = np.arange(5, dtype="float32"), np.arange(7, dtype="float32")
    c = np.zeros(5, "float32")
    run(a, d, c)
    np.testing.assert_array_equal(c, 7 * a + d.sum())


@pytest.mark.parametrize(
    ("shape", "limited"),
    [((n, m), True), ((n, m, 4), False), ((m, n), True), ((n, 8), False), ((n, n), False)],
)
def test_the_arguments_limit_fused_loops(shape, limited):
    """The input B limits what has as many elements; the result has few."""
    B = te.placeholder((n, m), name="B")
    axes = [te.reduce_axis((0, extent), f"k{position}") for position, extent in enumerate(shape)]
    C: Any = te.compute((1,), lambda i: te.sum(B[axes[0] % n, axes[1] % m], axes), name="C")
    s = te.create_schedule([C.op])
    fused = s[C].fuse(*axes)
    assert str(fused.dtype) == ("int32" if limited else "int64")


def test_results_limit_fused_loops_too():
    C: Any = te.compute((n, m), lambda i, j: A[i] + D[j], name="C")
    s = te.create_schedule([C.op])
    s[C].fuse(*C.op.axis)
    assert loop_dtypes(s, [A, D, C]) == {"i_j_fused": "int32"}


@pytest.mark.parametrize("kind", ["factor", "nparts"])
def test_tiles_have_room(kind):
    C: Any = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    s = te.create_schedule([C.op])
    with pytest.raises(TEScheduleError, match=r"`n \+ 65536` may be 2147483648, which int32 does"):
        split(s[C], C.op.axis[0], kind, 65537)
    assert s[C].leaf_iter_vars == list(C.op.axis)
    split(s[C], C.op.axis[0], kind, 65536)


def test_constant_tiles_have_room():
    extent = 2**31 - 8
    X = te.placeholder((extent,), name="X")
    C: Any = te.compute((extent,), lambda i: X[i] + 1.0, name="C")
    s = te.create_schedule([C.op])
    with pytest.raises(TEScheduleError, match="int32 does not hold"):
        s[C].split(C.op.axis[0], 65537)
    s[C].split(C.op.axis[0], 65536)


@pytest.mark.parametrize("kind", ["factor", "nparts"])
@pytest.mark.parametrize("reduced", [False, True])
def test_symbolic_tiles_are_checked_at_the_call(kind, reduced):
    size = te.var("f")
    k = te.reduce_axis((0, n), "k")
    if reduced:
        C: Any = te.compute((1,), lambda i: te.sum(A[k], k), name="C")
    else:
        C: Any = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    s = te.create_schedule([C.op])
    axis = k if reduced else C.op.axis[0]
    split(s[C], axis, kind, size)
    module = tvm.lower(s, [A, size, C])
    run = tvm.build(module, target="llvm")
    a = np.arange(10, dtype="float32")
    expected = [45.0] if reduced else a + 1
    c = np.empty(len(expected), "float32")
    name = f"stage C: {axis.var.name} cannot be split"
    for function in (run, lambda *args: interpret(module["main"], *args)):
        for value in (1, 3, 100):
            c[:] = np.nan
            function(a, value, c)
            np.testing.assert_array_equal(c, expected)
        for value in (0, -1, -(2**31)):
            with pytest.raises(ProgramAssertionError, match=f"{name}: f must be positive"):
                function(a, value, c)
        with pytest.raises(ProgramAssertionError, match=rf"{name}: n \+ f must fit int32"):
            function(a, 2**31 - 1, c)


def test_tiles_that_are_known_to_be_positive_need_no_check():
    C: Any = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    s = te.create_schedule([C.op])
    s[C].split(C.op.axis[0], te.max(te.min(n, 16), 1))
    assert "must be positive" not in str(tvm.lower(s, [A, C]))
