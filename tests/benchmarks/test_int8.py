"""The schedule of products of 8-bit integers is exact for all sizes and values."""

import numpy as np
import pytest
from benchmarks.suite import int8
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.target import Target

NARROW = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64")


@pytest.mark.parametrize("program", [int8.signed_product, int8.mixed_product])
@pytest.mark.parametrize(("m", "n", "k"), [(6, 8, 4), (3, 5, 7)])
def test_the_schedule_keeps_the_meaning(program, m, n, k):
    before = program(m, n, k)
    sch = tvm.tir.Schedule(before, debug_mask="all")
    int8.dot_products(sch, NARROW)
    assert "dp4a" in sch.mod["main"].script()
    assert_same_meaning(before, sch)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("program", [int8.signed_product, int8.mixed_product])
@pytest.mark.parametrize(("m", "n", "k"), [(12, 64, 32), (1, 1, 1), (37, 67, 21)])
def test_results_are_exact(program, m, n, k, cores):
    target = Target(f"llvm -num-cores={cores}")
    sch = tvm.tir.Schedule(program(m, n, k))
    int8.dot_products(sch, target)
    rng = np.random.default_rng(0)
    b_dtype = "int8" if program is int8.signed_product else "uint8"
    a, b = (rng.integers(0, 256, shape).astype("uint8") for shape in ((m, k), (k, n)))
    a[0], b[:, 0] = 128, 128  # the least int8
    a, b = a.view("int8"), b.view(b_dtype)
    result = tvm.nd.empty((m, n), "int32")
    tvm.build(sch.mod, target=target)(tvm.nd.array(a), tvm.nd.array(b), result)
    np.testing.assert_array_equal(result.numpy(), a.astype("int32") @ b.astype("int32"))
