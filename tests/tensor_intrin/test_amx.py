"""Tensor intrinsics for blocks of results in tile registers."""

import numpy as np
import pytest
from tests.schedule_rules.test_dot_products import numbers, product

import tilewright as tvm
from tilewright.tir import IndexMap, Schedule, TensorIntrin
from tilewright.tir.interpreter.program import first_difference


@pytest.mark.parametrize(
    "name",
    ["amx_zero_32x32_i32", "amx_zero_7x16_f32", "amx_store_28x32_i32", "amx_store_16x16_f32",
     "amx_multiply_2x16x8_i8i8i32", "amx_multiply_18x16x4_u8i8i32", "amx_multiply_2x16x4_i8u8i32",
     "amx_multiply_2x32x4_u8u8i32", "amx_multiply_3x16x6_bf16bf16f32"],
)  # fmt: skip
def test_implementations_do_what_descriptions_say(name):
    intrinsic = TensorIntrin.get(name)
    assert first_difference(intrinsic.desc, intrinsic.impl) is None


@pytest.mark.parametrize(
    "name",
    ["amx_multiply_34x32x64_i8i8i32", "amx_multiply_17x32x64_i8i8i32", "amx_zero_0x16_i32",
     "amx_multiply_16x48x64_i8i8i32", "amx_multiply_16x16x68_i8i8i32",
     "amx_multiply_16x16x34_bf16bf16f32", "amx_multiply_16x16x62_i8i8i32",
     "amx_multiply_16x16x64_i8i8f32", "amx_zero_16x16_i8"],
)  # fmt: skip
def test_there_are_no_others(name):
    assert TensorIntrin.get(name, allow_missing=True) is None


def test_a_schedule_by_hand_runs_everywhere():
    """Without such registers blocks of results are in memory, and loops are loops."""
    func = product(64, 64, 128, "uint8", "int8")
    sch = Schedule(func)
    block = sch.get_block("C")
    results = sch.cache_write(block, 0, "amx.tmm")
    i, j, r = sch.get_loops(block)
    rows, row = sch.split(i, [None, 32])
    columns, column = sch.split(j, [None, 32])
    step, group, part = sch.split(r, [None, 16, 4])
    sch.reorder(rows, columns, step, row, column, group, part)

    def panels(i, j, k):
        return (j // 32, k // 64, k % 64 // 4, j % 32, k % 4)

    sch.reindex_cache_read(block, "B", "global", IndexMap.from_func(panels, 3))
    sch.reverse_compute_at(results, columns)
    init = sch.decompose_reduction(block, step)
    sch.tensorize(sch.get_loops(init)[-2], "amx_zero_32x32_i32")
    sch.tensorize(row, "amx_multiply_32x32x64_u8i8i32")
    sch.tensorize(sch.get_loops(results)[-2], "amx_store_32x32_i32")
    rng = np.random.default_rng(0)
    a, b = numbers(rng, (64, 128), "uint8"), numbers(rng, (128, 64), "int8")
    want = a.astype("int32") @ b.astype("int32")
    for target in ("llvm -mattr=-amx-tile", "c"):
        result = tvm.nd.empty((64, 64), "int32")
        tvm.build(sch.mod, target=target)(tvm.nd.array(a), tvm.nd.array(b), result)
        np.testing.assert_array_equal(result.numpy(), want)
