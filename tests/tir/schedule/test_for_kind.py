"""Parallel, vectorised, unrolled and thread-bound loops."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_same_meaning
from tests.tir.schedule.loop_programs import (
    elementwise,
    matmul,
    prefix_sum,
    two_products,
    wavefront,
)

import tilewright as tvm
from tilewright.error import ArgumentError
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError

KINDS = {"parallel": "T.parallel", "vectorize": "T.vectorized", "unroll": "T.unroll"}


@pytest.mark.parametrize("kind", KINDS)
def test_independent_iterations(kind):
    sch = Schedule(elementwise, debug_mask="all")
    i, j = sch.get_loops("B")
    _, i1 = sch.split(i, [None, 4])
    getattr(sch, kind)(j)
    getattr(sch, kind)(i1)
    assert KINDS[kind] in sch.mod.script()
    assert_same_meaning(elementwise, sch)


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_rows_and_columns_of_a_product(kind):
    sch = Schedule(matmul, debug_mask="all")
    i, j, k = sch.get_loops("C")
    getattr(sch, kind)(i)
    getattr(sch, kind)(j)
    assert_same_meaning(matmul, sch)
    with pytest.raises(ScheduleError, match="one depends on another one") as info:
        sch.parallel(k)
    assert "rfactor the loop" in str(info.value)
    assert "Counterexample: C[" in str(info.value)
    sch.unroll(k)
    assert_same_meaning(matmul, sch)


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
@pytest.mark.parametrize(("func", "block"), [(wavefront, "A"), (prefix_sum, "B")])
def test_iterations_that_depend_on_each_other(kind, func, block):
    sch = Schedule(func)
    loop = sch.get_loops(block)[0]
    with pytest.raises(ScheduleError, match="the iterations of loop `i` cannot run") as info:
        getattr(sch, kind)(loop)
    assert "Counterexample" in str(info.value)


def test_independence_that_only_dependences_show():
    """The columns of the wavefront do not depend on each other within one row."""
    sch = Schedule(wavefront, debug_mask="all")
    sch.parallel(sch.get_loops("A")[1])
    assert_same_meaning(wavefront, sch)


def test_several_blocks_in_a_loop():
    sch = Schedule(two_products, debug_mask="all")
    first, second, third = (sch.get_loops(name)[0] for name in "CDF")
    sch.parallel(sch.merge(first, second, third))
    assert_same_meaning(two_products, sch)


def test_redundant_iterations_race():
    @T.prim_func
    def repeated(A: T.Buffer((4,), "float32")):
        for _i, j in T.grid(3, 4):
            with T.block("A"):
                vj = T.axis.spatial(4, j)
                A[vj] = T.float32(1)

    sch = Schedule(repeated)
    with pytest.raises(ScheduleError, match="one depends on another one"):
        sch.parallel(sch.get_loops("A")[0])


def test_a_scatter_may_hit_one_element_twice():
    @T.prim_func
    def scatter(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "float32")):
        for i in range(6):
            with T.block("B"):
                vi = T.axis.spatial(6, i)
                B[A[vi]] = T.float32(1)

    sch = Schedule(scatter)
    with pytest.raises(ScheduleError, match="the iterations of loop `i` cannot run in parallel"):
        sch.parallel(sch.get_loops("B")[0])


def test_threads():
    sch = Schedule(elementwise, debug_mask="all")
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    assert 'T.thread_binding(12, thread="threadIdx.x")' in sch.mod.script()
    assert_same_meaning(elementwise, sch)
    with pytest.raises(ScheduleError, match=r"is bound to blockIdx\.x already"):
        sch.vectorize(i)


def test_threads_may_reduce_together_but_blocks_may_not():
    sch = Schedule(matmul)
    k = sch.get_loops("C")[2]
    with pytest.raises(ScheduleError, match="cannot run by threads"):
        sch.bind(k, "blockIdx.x")
    sch.bind(k, "threadIdx.x")
    sch = Schedule(prefix_sum)
    with pytest.raises(ScheduleError, match="cannot run by threads"):
        sch.bind(sch.get_loops("B")[0], "threadIdx.x")


@pytest.mark.parametrize("factor", [4, 5])
def test_lanes_of_a_vector_may_reduce_together(factor):
    sch = Schedule(matmul, debug_mask="all")
    _, inner = sch.split(sch.get_loops("C")[2], [None, factor])
    sch.vectorize(inner)
    assert_same_meaning(matmul, sch)


def test_lanes_that_need_the_sum_so_far_may_not():
    @T.prim_func
    def running(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((1,))):
        for k in range(4):
            with T.block("C"):
                vk = T.axis.reduce(4, k)
                with T.init():
                    C[0] = T.float32(0)
                C[0] = C[0] + A[vk]
            with T.block("B"):
                vk = T.axis.spatial(4, k)
                B[vk] = C[0]

    sch = Schedule(running)
    with pytest.raises(ScheduleError, match="cannot run as lanes of a vector: one depends"):
        sch.vectorize(sch.get_loops("C")[0])


def test_axes_that_do_not_exist_or_are_taken():
    sch = Schedule(elementwise)
    i, j = sch.get_loops("B")
    with pytest.raises(ScheduleError, match="there is no thread axis"):
        sch.bind(i, "threadIdx.w")
    with pytest.raises(ArgumentError, match="thread_axis is a string, got 3"):
        sch.bind(i, 3)
    sch.bind(i, "threadIdx.x")
    with pytest.raises(ScheduleError, match=r"loop `i` is bound to threadIdx\.x already") as caught:
        sch.bind(j, "threadIdx.x")
    assert caught.value.hint.startswith("bind it to another axis")


@T.prim_func
def cached_rows(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    S = T.alloc_buffer((4, 4), scope="shared")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for j in T.thread_binding(4, thread="threadIdx.x"):
            for k in range(4):
                with T.block("S"):
                    vi, vk = T.axis.remap("SS", [i, k])
                    S[vi, vk] = A[vi, vk]
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = S[vi, 3 - vj]


def test_threads_may_share_the_work_of_filling_what_they_share():
    sch = Schedule(cached_rows, debug_mask="all")
    sch.bind(sch.get_loops("S")[-1], "threadIdx.x")
    assert sch.mod.script().count("threadIdx.x") == 2
    assert_same_meaning(cached_rows, sch)
    again = Schedule(cached_rows)
    with pytest.raises(ScheduleError, match=r"is bound to threadIdx\.x already"):
        split, _ = again.split(again.get_loops("S")[-1], [2, 2])
        again.bind(split, "threadIdx.x")


def test_threads_do_not_share_the_work_on_what_they_have_for_themselves():
    sch = Schedule(cached_rows)
    sch.set_scope("S", 0, "local")
    with pytest.raises(ScheduleError, match=r"is bound to threadIdx\.x already"):
        sch.bind(sch.get_loops("S")[-1], "threadIdx.x")


def test_work_that_differs_between_threads_is_not_shared():
    @T.prim_func
    def shifted(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 4), "float32")):
        S = T.alloc_buffer((4, 8), scope="shared")
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                for k in range(4):
                    with T.block("S"):
                        vi = T.axis.spatial(4, i)
                        vk = T.axis.spatial(8, j + k)
                        S[vi, vk] = A[vi, vk]
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = S[vi, vj] + S[vi, vj + 3]

    sch = Schedule(shifted)
    with pytest.raises(ScheduleError, match=r"is bound to threadIdx\.x already"):
        sch.bind(sch.get_loops("S")[-1], "threadIdx.x")


@T.prim_func
def window(A: T.Buffer((10,), "float32"), C: T.Buffer((8,), "float32")):
    """Each iteration fills the part of B that it reads; these parts overlap."""
    B = T.alloc_buffer((10,))
    for i in range(4):
        for j in range(4):
            with T.block("B"):
                vj = T.axis.spatial(10, i * 2 + j)
                B[vj] = A[vj] * T.float32(2)
        for j in range(2):
            with T.block("C"):
                vj = T.axis.spatial(8, i * 2 + j)
                C[vj] = B[vj] + B[vj + 1] + B[vj + 2]


def test_a_buffer_that_each_iteration_fills_itself_is_private():
    sch = Schedule(window, debug_mask="all")
    sch.parallel(sch.get_loops("B")[0])
    assert_same_meaning(window, sch)
    arrays = [np.arange(10, dtype="float32"), np.zeros(8, "float32")]
    tvm.build(sch.mod, target="llvm")["window"](*map(tvm.nd.array, arrays))
    sch = Schedule(window)
    with pytest.raises(ScheduleError, match="as lanes of a vector"):
        sch.vectorize(sch.get_loops("B")[0])


def test_later_steps_keep_iterations_independent():
    """What runs in parallel stays independent whatever is done inside of the loop afterwards."""

    @T.prim_func
    def sums(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 8):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    sch = Schedule(sums)
    i, k = sch.get_loops("C")
    sch.parallel(i)
    fused = sch.fuse(i, k)  # is serial
    with pytest.raises(ScheduleError, match="parallel: the iterations of loop") as info:
        sch.parallel(fused)
    assert "in T.parallel(32)" in str(info.value)


def test_dependences_that_are_not_known():
    @T.prim_func
    def by_data(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + T.float32(1)
            if A[i] > T.float32(0):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    B[vi] = T.float32(1)

    sch = Schedule(by_data)
    with pytest.raises(ScheduleError, match="not known whether they are independent: A and B"):
        sch.parallel(sch.get_loops("A")[0])


@T.prim_func
def symbolic(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    for i, j in T.grid(n, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(1)


def test_only_loops_of_constant_extent_are_unrolled():
    sch = Schedule(symbolic, debug_mask="all")
    i, j = sch.get_loops("A")
    with pytest.raises(ScheduleError, match="the extent of loop `i`, n, is not constant"):
        sch.unroll(i)
    sch.unroll(j)
    sch.unroll(sch.split(i, [None, 4])[1])
    assert_same_meaning(symbolic, sch, sizes={"n": 6})
    tvm.build(sch.mod, target="llvm")
