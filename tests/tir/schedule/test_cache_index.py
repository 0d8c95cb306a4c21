"""Indices that are computed ahead."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning
from tests.tir.schedule.loop_programs import rows

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


def scheduled(func):
    return Schedule(func, debug_mask="all")


@T.prim_func
def resize(A: T.Buffer((3, 2, 4), "float32"), B: T.Buffer((3, 6, 8), "float32")):
    for c, i, j in T.grid(3, 6, 8):
        with T.block("B"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            B[vc, vi, vj] = A[vc, vi // 4 + vj // 9, vj // 2]


@T.prim_func
def resize_cached(A: T.Buffer((3, 2, 4), "float32"), B: T.Buffer((3, 6, 8), "float32")):
    index_var_0 = T.alloc_buffer((6, 8), "int32")
    index_var_1 = T.alloc_buffer((8,), "int32")
    for ax0, ax1 in T.grid(6, 8):
        with T.block("index_0"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            index_var_0[v0, v1] = v0 // 4 + v1 // 9
    for ax0 in range(8):
        with T.block("index_1"):
            v0 = T.axis.spatial(8, ax0)
            index_var_1[v0] = v0 // 2
    for c, i, j in T.grid(3, 6, 8):
        with T.block("B"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            T.reads(A[vc, vi // 4 + vj // 9, vj // 2], index_var_0[vi, vj], index_var_1[vj])
            T.writes(B[vc, vi, vj])
            B[vc, vi, vj] = A[vc, index_var_0[vi, vj], index_var_1[vj]]


def test_every_index_that_is_computed():
    sch = scheduled(resize)
    blocks = sch.cache_index("B", "global")
    assert [sch.get(block).name_hint for block in blocks] == ["index_0", "index_1"]
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], resize_cached)
    assert_same_meaning(resize, sch)


@T.prim_func
def repeated(A: T.Buffer((4, 4), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v // 2, v % 4] + A[v // 2, (v // 2 + 1) % 4]


def test_only_what_occurs_often_enough():
    sch = scheduled(repeated)
    (block,) = sch.cache_index("C", "global", 2)
    assert sch.get(block).name_hint == "index_0"
    text = sch.mod["main"].script()
    assert "A[index_var_0[v], (index_var_0[v] + 1) % 4]" in text
    assert_same_meaning(repeated, sch)
    more = sch.cache_index("C", "global", 0)
    assert [sch.get(block).name_hint for block in more] == ["index_1"]
    assert_same_meaning(repeated, sch)


@T.prim_func
def plain(A: T.Buffer((6,), "float32"), I: T.Buffer((6,), "int32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            v = T.axis.spatial(6, i)
            with T.init():
                B[v] = T.float32(0)
            B[v] = A[T.max(I[v] % 6, 0)]


def test_nothing_to_compute():
    sch = scheduled(plain)
    assert sch.cache_index("B", "global") == []
    assert_same_meaning(plain, sch)


@T.prim_func
def from_two(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial((2, 6), i + 2)
            B[v * 2 - 4] = A[v]


def test_an_iterator_that_does_not_start_at_0():
    sch = scheduled(from_two)
    sch.cache_index("B", "local")
    assert 'index_var_0 = T.alloc_buffer((4,), "int32", scope="local")' in sch.mod["main"].script()
    assert_same_meaning(from_two, sch)


def test_a_block_that_contains_blocks():
    sch = scheduled(rows)
    with pytest.raises(ScheduleError, match="block `row` contains other blocks"):
        sch.cache_index("row", "global")


@T.prim_func
def init_with_a_block(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 4):
        with T.block("B"):
            v, vk = T.axis.remap("SR", [i, k])
            T.reads(A[v * 2, vk])
            T.writes(B[v])
            with T.init(), T.block("start"):
                B[v] = T.float32(0)
            B[v] = B[v] + A[v * 2, vk]


def test_a_block_in_the_init():
    with pytest.raises(ScheduleError, match="block `B` contains other blocks"):
        scheduled(init_with_a_block).cache_index("B", "global")


def test_refusals():
    sch = scheduled(resize)
    with pytest.raises(ScheduleError, match="the threshold must not be negative, got -1"):
        sch.cache_index("B", "global", -1)
    with pytest.raises(ScheduleError, match="`root` is the root block"):
        sch.cache_index("root", "global")
    with pytest.raises(ScheduleError, match="there is no storage scope"):
        sch.cache_index("B", "nowhere")
