"""The schedules of products of matrices are right for sizes that no tile divides."""

import numpy as np
import pytest
from benchmarks.suite import chain, matmul

import tilewright as tvm
from tilewright import tir
from tilewright.target import Target

SIZES = [(1, 1, 1), (13, 21, 11), (24, 130, 64), (7, 600, 500), (70, 45, 8)]
TARGETS = ["llvm", "llvm -mcpu=haswell", "llvm -num-cores=2"]


def run(func, schedule, target, *inputs):
    """The result of a program of matrices under a schedule."""
    sch = tir.Schedule(func)
    schedule(sch, Target(target))
    compiled = tvm.build(sch.mod, target=target)["main"]
    arrays = [tvm.nd.array(array) for array in inputs]
    shape = [int(size) for size in list(func.buffer_map.values())[-1].shape]
    result = tvm.nd.array(np.full(shape, np.nan, "float32"))
    compiled(*arrays, result)
    return result.numpy()


def assert_close(got, exact):
    assert np.abs(got - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_register_tiles(size, target):
    m, n, k = size
    work = matmul.matmul(m, n, k)
    a, b = work.inputs(np.random.default_rng(0))
    got = run(work.program(), matmul.register_tiles, target, a, b)
    assert_close(got, a.astype("float64") @ b)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [(13, 21, 11, 9), (25, 500, 600, 33)], ids=str)
def test_the_chain(size, target):
    work = chain.chain(*size)
    inputs = work.inputs(np.random.default_rng(0))
    got = run(work.program(), chain.fused, target, *inputs)
    assert_close(got, chain.exact(*(array.astype("float64") for array in inputs)))


def test_products_keep_what_is_no_number():
    """A row with NaN or infinity spoils its own row of the result only."""
    work = matmul.matmul(13, 21, 11)
    a, b = work.inputs(np.random.default_rng(0))
    a[3, 2], a[5, 1], a[7, 4] = np.nan, np.inf, 1e-42
    got = run(work.program(), matmul.register_tiles, "llvm", a, b)
    with np.errstate(invalid="ignore"):
        exact = a.astype("float64") @ b
    np.testing.assert_array_equal(np.isnan(got), np.isnan(exact))
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(got[~finite], exact[~finite].astype("float32"))
    assert_close(got[finite], exact[finite])
