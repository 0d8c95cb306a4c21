"""Iteration spaces that are too large for the dtype of their loops."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import ArgumentValueError
from tilewright.ir.dtype import INT32
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.index_limits import ROOM, largest_size


@T.prim_func
def four(B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = vi


@T.prim_func
def vector(b: T.handle):
    n = T.int32()
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = vi


@T.prim_func
def matrix(b: T.handle):
    n = T.int32()
    m = T.int32()
    B = T.match_buffer(b, (n, m), "int32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = vi


@T.prim_func
def row_sums(a: T.handle, b: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n,))
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vj]


@T.prim_func
def outer_product(a: T.handle, b: T.handle, C: T.Buffer((1,), "int64")):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n,), "int64")
    B = T.match_buffer(b, (m,), "int64")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                C[0] = T.int64(0)
            C[0] += A[vi] * B[vj]


@T.prim_func
def count(n: T.int32, B: T.Buffer((1,), "int32")):
    for i in range(n):
        with T.block("B"):
            vi = T.axis.reduce(n, i)
            with T.init():
                B[0] = 0
            B[0] += vi % 2


def loops(sch):
    return sch.get_loops("B")


REFUSED = {
    "a product": (four, lambda sch: sch.split(loops(sch)[0], [65536, 65536])),
    "a product that wraps to 0": (four, lambda sch: sch.split(loops(sch)[0], [2, 65536, 65536])),
    "a multiple": (four, lambda sch: sch.split(loops(sch)[0], [3, 2**30])),
    "a factor": (four, lambda sch: sch.split(loops(sch)[0], [None, 2**31])),
    "a large factor": (four, lambda sch: sch.split(loops(sch)[0], [None, 2**40])),
    "a tile of a symbolic extent": (
        vector,
        lambda sch: sch.split(loops(sch)[0], [None, ROOM + 2]),
    ),
    "a tile of fused loops": (
        matrix,
        lambda sch: sch.split(sch.fuse(*loops(sch)), [None, ROOM + 2]),
    ),
    "tiles of tiles": (
        vector,
        lambda sch: sch.split(sch.split(loops(sch)[0], [None, 60000])[0], [None, 60000]),
    ),
    "padding": (row_sums, lambda sch: sch.pad_einsum("B", [2**20, 1])),
    "large padding": (row_sums, lambda sch: sch.pad_einsum("B", [2**33, 1])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_int32_does_not_hold(name):
    program, step = REFUSED[name]
    with pytest.raises(ScheduleError, match=r"int32 does not hold"):
        step(Schedule(program))


def test_a_number_in_an_index_map():
    with pytest.raises(ScheduleError, match="the number 2147483648"):
        Schedule(four).transform_layout("B", ("write", 0), lambda i: (i // 2**31, i % 2**31))


def test_the_largest_tiles():
    sch = Schedule(four)
    sch.split(loops(sch)[0], [1, 2**31 - 1])
    sch = Schedule(vector)
    sch.split(loops(sch)[0], [None, ROOM])
    outer, inner = loops(sch)
    assert str(sch.get(outer).extent) == "(n + 65535) // 65536"
    sch.split(inner, [None, 16])
    # The last position of the last tile, for the largest size.
    size = largest_size(INT32)
    assert size + ROOM - 1 == 2**31 - 1
    assert -(-size // ROOM) * ROOM <= 2**31


def test_tiles_that_ordinary_programs_have():
    sch = Schedule(vector)
    outer, _ = sch.split(loops(sch)[0], [None, 16])
    sch.split(outer, [None, 48])
    sch = Schedule(matrix)
    sch.fuse(*loops(sch))
    (fused,) = loops(sch)
    assert str(sch.get(fused).loop_var.dtype) == "int32"
    sch.split(fused, [None, 256])


def test_fused_tiles_of_one_array_stay_int32():
    sch = Schedule(matrix)
    i, j = loops(sch)
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 32])
    sch.reorder(i_0, j_0, i_1, j_1)
    assert str(sch.get(sch.fuse(i_0, j_0)).loop_var.dtype) == "int32"


def test_a_product_of_sizes_of_several_arrays_is_counted_in_int64():
    sch = Schedule(outer_product, debug_mask="all")
    fused = sch.fuse(*loops(sch))
    assert str(sch.get(fused).loop_var.dtype) == "int64"
    sch.split(fused, [None, 2**20])
    one, other = np.arange(5), np.arange(7)
    found = tvm.nd.array(np.zeros(1, "int64"))
    tvm.build(sch.mod, target="llvm")["main"](tvm.nd.array(one), tvm.nd.array(other), found)
    assert found.numpy()[0] == one.sum() * other.sum()


def test_more_iterations_than_int32_counts():
    # 46,341 iterations of each: a few more than 31 bits count.
    sch = Schedule(outer_product)
    sch.fuse(*loops(sch))
    ones = tvm.nd.array(np.ones(46_341, "int64"))
    found = tvm.nd.array(np.zeros(1, "int64"))
    tvm.build(sch.mod, target="llvm")["main"](ones, ones, found)
    assert found.numpy()[0] == 46_341**2 > 2**31


def test_a_number_of_iterations_is_checked_where_tiles_round_it_up():
    sch = Schedule(count)
    sch.split(loops(sch)[0], [None, 16])
    function = tvm.build(sch.mod, target="llvm")["main"]
    found = tvm.nd.array(np.zeros(1, "int32"))
    function(33, found)
    assert found.numpy()[0] == 16
    with pytest.raises(ArgumentValueError, match="loops can count to 2147483632 in tiles"):
        function(2**31 - 1, found)


def test_what_a_program_computes_already_is_its_own_business():
    @T.prim_func
    def scaled(b: T.handle):
        n = T.int32()
        B = T.match_buffer(b, (n,), "int32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                T.where(i * 3 < n)
                B[vi] = vi

    sch = Schedule(scaled)
    sch.split(loops(sch)[0], [None, 16])
