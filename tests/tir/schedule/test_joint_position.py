"""Loops of symbolic extents that were fused and split run at once."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.script import from_source
from tilewright.tir import ScheduleError


def program(shape, indices="vi, vj, vk"):
    return from_source(f"""
from tilewright.script import tir as T

@T.prim_func
def add(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, ({shape}))
    B = T.match_buffer(b, ({shape}))
    for i, j, k in T.grid({shape}):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[{indices}] = A[vi, vj, vk] + T.float32(1)
""")


def schedule_of(func):
    return tir.Schedule(tvm.IRModule({"main": func}), debug_mask="all")


def fused_and_split(func, factors):
    sch = schedule_of(func)
    return sch, sch.split(sch.fuse(*sch.get_loops("B")), factors)


SHAPES = ["n, m, 2", "n, n, 2", "n, 2, m", "2, n, m", "n, m, m", "n, m, 4", "4, n, 3"]
FACTORS = [[None, 4], [None, 4, 2], [None, 3], [None, 1, 2], [None, 16, 4]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("factors", FACTORS)
def test_the_iterations_are_independent(shape, factors):
    sch, (outer, *_, lanes) = fused_and_split(program(shape), factors)
    sch.parallel(outer)
    sch.vectorize(lanes)
    replayed = schedule_of(program(shape))
    sch.trace.apply_to_schedule(replayed)
    n, m = 3, 5
    a = np.arange(n * n * m * m * 4, dtype="float32")
    extents = [{"n": n, "m": m}.get(extent) or int(extent) for extent in shape.split(", ")]
    a = a[: np.prod(extents)].reshape(extents)
    b = np.zeros_like(a)
    tvm.build(sch.mod, target="llvm")(a, b)
    np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize("indices", ["vi, vj, 0", "vi, 0, vk", "vj, vj, vk"])
def test_iterations_that_write_the_same_element_are_refused(indices):
    sch, (outer, lanes) = fused_and_split(program("n, n, 2", indices), [None, 4])
    with pytest.raises(ScheduleError, match="cannot run in parallel"):
        sch.parallel(outer)
    with pytest.raises(ScheduleError, match="cannot run as lanes of a vector"):
        sch.vectorize(lanes)
