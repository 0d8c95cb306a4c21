"""The schedule of products in float64 is right for all sizes."""

import numpy as np
import pytest
from benchmarks.suite import float64
from benchmarks.suite.matmul import register_tiles
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.target import Target

NARROW = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64")


@pytest.mark.parametrize(("m", "n", "k"), [(6, 8, 3), (3, 5, 2)])
def test_the_schedule_keeps_the_meaning(m, n, k):
    before = float64.program(m, n, k)
    sch = tvm.tir.Schedule(before, debug_mask="all")
    register_tiles(sch, NARROW)
    assert_same_meaning(before, sch)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(("m", "n", "k"), [(12, 64, 32), (1, 1, 1), (17, 67, 21)])
def test_results(m, n, k, cores):
    target = Target(f"llvm -num-cores={cores}")
    sch = tvm.tir.Schedule(float64.program(m, n, k))
    register_tiles(sch, target)
    a, b = (np.random.default_rng(0).integers(-9, 9, s).astype("float64") for s in ((m, k), (k, n)))
    result = tvm.nd.empty((m, n), "float64")
    tvm.build(sch.mod, target=target)(tvm.nd.array(a), tvm.nd.array(b), result)
    np.testing.assert_array_equal(result.numpy(), a @ b)
