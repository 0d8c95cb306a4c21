"""Copies that are made in every iteration of a loop."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def scheduled(func):
    return Schedule(func, debug_mask="all")


@T.prim_func
def matmul(
    A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((5, 7), "float32")
):
    for i, j, k in T.grid(5, 7, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_cached(
    A: T.Buffer((5, 6), "float32"), B: T.Buffer((6, 7), "float32"), C: T.Buffer((5, 7), "float32")
):
    A_shared = T.alloc_buffer((5, 6), scope="shared")
    C_local = T.alloc_buffer((5, 7), scope="local")
    for i in range(5):
        with T.block("A_shared"):
            v0 = T.axis.spatial(5, i)
            T.reads(A[v0, 0:6])
            T.writes(A_shared[v0, 0:6])
            T.block_attr({"auto_copy": 1})
            for ax0, ax1 in T.grid(1, 6):
                A_shared[v0 + ax0, ax1] = A[v0 + ax0, ax1]
        for j, k in T.grid(7, 6):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C_local[vi, vj] = T.float32(0)
                C_local[vi, vj] = C_local[vi, vj] + A_shared[vi, vk] * B[vk, vj]
        with T.block("C_local"):
            v0 = T.axis.spatial(5, i)
            T.reads(C_local[v0, 0:7])
            T.writes(C[v0, 0:7])
            T.block_attr({"auto_copy": 1})
            for ax0, ax1 in T.grid(1, 7):
                C[v0 + ax0, ax1] = C_local[v0 + ax0, ax1]


def test_a_row_at_a_time():
    sch = scheduled(matmul)
    i, _, _ = sch.get_loops("C")
    copy = sch.read_at(i, "C", 0, "shared")
    back = sch.write_at(i, "C", "C", "local")
    assert [sch.get(b).name_hint for b in (copy, back)] == ["A_shared", "C_local"]
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], matmul_cached)
    assert_same_meaning(matmul, sch)


def test_tiles_that_do_not_divide():
    sch = scheduled(matmul)
    i, j, k = sch.get_loops("C")
    outer, _ = sch.split(i, [None, 2])
    j_outer, _ = sch.split(j, [None, 4])
    sch.read_at(outer, "C", "A", "global")
    sch.read_at(j_outer, "C", "B", "global")
    sch.write_at(outer, "C", 0, "global")
    del k
    assert_same_meaning(matmul, sch)


@T.prim_func
def per_row(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i in range(3):
        for j in range(4):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(2)
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]


def test_accesses_of_others_in_the_loop():
    sch = scheduled(per_row)
    i, j = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="`A` writes `A` in loop `i`, behind the copy"):
        sch.read_at(i, "B", 0, "local")
    i, j_a = sch.get_loops("A")
    with pytest.raises(ScheduleError, match="`B` accesses `A` in loop `i`, before the copy"):
        sch.write_at(i, "A", 0, "local")
    sch.read_at(j, "B", 0, "local")
    sch.write_at(j_a, "A", 0, "local")
    assert_same_meaning(per_row, sch)


@T.prim_func
def some(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            if A[vi, vj] > T.float32(0):
                B[vi, vj] = A[vi, vj]


def test_refusals():
    sch = scheduled(some)
    i, _ = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="not proved that block `B` writes all elements"):
        sch.write_at(i, "B", 0, "local")
    with pytest.raises(ScheduleError, match="there is no storage scope"):
        sch.read_at(i, "B", 0, "locale")
    with pytest.raises(ScheduleError, match="there is no storage scope"):
        sch.write_at(i, "B", 0, "locale")
    for at in (sch.read_at, sch.write_at):
        with pytest.raises(ScheduleError, match="`root` is the root block"):
            at(i, "root", 0, "local")
    sch = scheduled(per_row)
    _, j = sch.get_loops("A")
    for at in (sch.read_at, sch.write_at):
        with pytest.raises(ScheduleError, match="loop `j` is not around block `B` in its scope"):
            at(j, "B", 0, "local")


@T.prim_func
def triangle(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        for j in range(i + 1):
            for k in range(2):
                with T.block("B"):
                    vi = T.axis.spatial(4, k * 2 + j // 2)
                    vj = T.axis.spatial(4, j)
                    B[vi, vj] = A[vi, vj]


def test_loops_of_which_the_bounds_depend_on_others():
    sch = scheduled(triangle)
    sch.read_at(sch.get_loops("B")[1], "B", 0, "local")
    assert_same_meaning(triangle, sch)


@T.prim_func
def lower_triangle(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        for j in range(i + 1):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(4, j)
                B[vi, vj] = A[vi, vj] * T.float32(2)


def test_a_loop_whose_bounds_depend_on_another_one():
    for step in ("read_at", "write_at"):
        sch = Schedule(lower_triangle, debug_mask="all")
        copy = getattr(sch, step)(sch.get_loops("B")[1], "B", 0, "shared")
        assert [item.dom.extent.value for item in sch.get(copy).iter_vars] == [4, 4]
        assert_same_meaning(lower_triangle, sch)
