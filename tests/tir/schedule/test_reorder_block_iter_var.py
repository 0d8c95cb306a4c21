"""The order of block iterators."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def matmul(
    A: T.Buffer((3, 4), "float32"), B: T.Buffer((4, 5), "float32"), C: T.Buffer((3, 5), "float32")
):
    for i, j, k in T.grid(3, 5, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def reordered(
    A: T.Buffer((3, 4), "float32"), B: T.Buffer((4, 5), "float32"), C: T.Buffer((3, 5), "float32")
):
    for i, j, k in T.grid(3, 5, 4):
        with T.block("C"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_iterators_are_reordered():
    sch = Schedule(matmul, debug_mask="all")
    sch.reorder_block_iter_var("C", [2, 0, 1])
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], reordered)
    assert_same_meaning(matmul, sch)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, -1], [0, 1, 2, 3]])
def test_an_order_that_is_no_permutation_is_refused(order):
    sch = Schedule(matmul)
    with pytest.raises(ScheduleError, match="each number from 0 to 2 once, as block `C` has 3"):
        sch.reorder_block_iter_var("C", order)
