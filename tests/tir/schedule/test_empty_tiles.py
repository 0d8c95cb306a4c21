"""Reductions over nothing, the loops of which were split into incomplete tiles."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.script import from_source
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import symbolic_sizes

total = from_source(
    """
from tilewright.script import tir as T

@T.prim_func
def total(a: T.handle, B: T.Buffer((1,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n, n))
    for i, j in T.grid(n, n):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = T.float32(5)
            B[0] = B[0] + A[vi, vj]
"""
)


def incomplete_tiles(sch):
    i, j = sch.get_loops("B")
    sch.split(i, [None, 3])
    _, inner = sch.split(j, [None, 2])
    sch.rfactor(inner, 0)


def one_tile_of_tiles(sch):
    i, _ = sch.get_loops("B")
    outer, _ = sch.split(i, [None, 2])
    _, middle = sch.split(outer, [None, 4])
    single, _ = sch.split(middle, [None, 4])
    sch.rfactor(single, 0)


def tiles_of_one_loop(sch):
    loop = sch.fuse(*sch.get_loops("B"))
    sch.split(loop, [None, 2])


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("steps", [incomplete_tiles, one_tile_of_tiles, tiles_of_one_loop])
@pytest.mark.parametrize("is_specialized", [False, True])
def test_the_results_have_initial_values(n, steps, is_specialized):
    sch = tir.Schedule(tvm.IRModule({"main": total}))
    steps(sch)
    func = sch.mod["main"]
    assert isinstance(func, tir.PrimFunc)
    if is_specialized:
        func = func.specialize(dict.fromkeys(symbolic_sizes(func), n))
    a = np.ones((n, n), "float32")
    interpreted, compiled = np.full(1, np.nan, "float32"), np.full(1, np.nan, "float32")
    interpret(func, a, interpreted)
    tvm.build(func, target="llvm")(a, compiled)
    assert interpreted == compiled == 5 + n * n


def test_a_tile_of_nothing_is_a_block():
    func = from_source(
        """
from tilewright.script import tir as T

@T.prim_func
def halves(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, ((n + 1) // 2,))
    for i in range((n + 1) // 2):
        with T.block("B"):
            vi = T.axis.spatial((n + 1) // 2, i)
            B[vi] = A[vi * 2]
"""
    )
    sch = tir.Schedule(func, debug_mask="all")
    _, inner = sch.split(sch.get_loops("B")[0], [1, None])
    sch.blockize(inner)
    for n in (0, 1, 5):
        source, result = np.arange(n, dtype="float32"), np.zeros((n + 1) // 2, "float32")
        interpret(sch.mod["main"], source, result)
        np.testing.assert_array_equal(result, source[::2])
