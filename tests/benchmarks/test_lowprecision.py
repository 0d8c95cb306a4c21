"""The schedules for matrices of halves are right for all sizes."""

import numpy as np
import pytest
from benchmarks.suite import lowprecision
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.ir import DType
from tilewright.target import Target

NARROW = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("m", "n", "k"), [(4, 16, 3), (3, 5, 2)])
def test_the_schedules_keep_the_meaning(dtype, m, n, k):
    for program, schedule in (
        (lowprecision.matmul_program(m, n, k, dtype), lowprecision.matmul_panels),
        (lowprecision.vector_program(n, k, dtype), lowprecision.rows_of_the_matrix),
    ):
        sch = tvm.tir.Schedule(program, debug_mask="all")
        schedule(sch, NARROW)
        assert_same_meaning(program, sch)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("m", "n", "k"), [(8, 128, 32), (1, 1, 1), (17, 67, 21)])
def test_results(dtype, m, n, k, cores):
    target = Target(f"llvm -num-cores={cores}")
    kind = DType(dtype).numpy
    for a, b, program, schedule in (
        ((m, k), (k, n), lowprecision.matmul_program(m, n, k, dtype), lowprecision.matmul_panels),
        ((1, k), (k, n), lowprecision.vector_program(n, k, dtype), lowprecision.rows_of_the_matrix),
    ):
        x, w = (np.random.default_rng(0).integers(-8, 9, shape).astype(kind) for shape in (a, b))
        sch = tvm.tir.Schedule(program)
        schedule(sch, target)
        result = tvm.nd.empty((a[0], n), dtype)
        tvm.build(sch.mod, target=target)(tvm.nd.array(x), tvm.nd.array(w), result)
        expected = (x.astype("float32") @ w.astype("float32")).astype(kind)  # exact, then rounded
        np.testing.assert_array_equal(result.numpy(), expected)
