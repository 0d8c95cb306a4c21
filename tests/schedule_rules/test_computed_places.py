"""Channels that are read at the same places come inside of the loop over the places."""

import numpy as np
import pytest
from tests.schedule_rules.programs import LARGE, SMALL, TWO_CORES, loops_of, scheduled

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.tir.interpreter import interpret


def gathered(channels, rows, columns, *, long, dtype="float32"):
    """Pixels of all channels at the places that another array says."""
    X = te.placeholder((channels, 40), dtype, name="X")
    P = te.placeholder((rows, columns), "float32", name="P")

    def place(y, x):
        if not long:
            return tir.max(tir.min(P[y, x].astype("int32"), 39), 0)
        at = te.floor((P[y, x] * 2.0 + 1.0) * 0.5)
        return tir.max(tir.min(at.astype("int32") * 3 - 7, 39), 0)

    out = te.compute((channels, rows, columns), lambda c, y, x: X[c, place(y, x)], name="out")
    return te.create_prim_func([X, P, out])


def test_channels_come_inside_of_points():
    sch = scheduled(gathered(3, 4, 16, long=True), LARGE)
    # 64 points are one stretch of memory; 16 of them fill a cache line.
    assert loops_of(sch, "out") == [("serial", 4), ("serial", 3), ("vectorized", 16)]


def test_points_are_divided_among_cores():
    sch = scheduled(gathered(3, 4, 16, long=True), TWO_CORES)
    assert loops_of(sch, "out")[0] == ("parallel", 4)


def test_short_indices_leave_each_row_in_one_piece():
    sch = scheduled(gathered(3, 5, 9, long=False), SMALL)
    assert loops_of(sch, "out")[0] == ("serial", 3)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 9), (8, 16), (31, 33)])
def test_the_result_is_the_same(rows, columns, dtype):
    func = gathered(7, rows, columns, long=True, dtype=dtype)
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2 if dtype == "bool" else 100, (7, 40)).astype(dtype)
    places = rng.uniform(-3, 20, (rows, columns)).astype("float32")
    expected, found = (np.empty((7, rows, columns), dtype) for _ in range(2))
    interpret(func, x, places, expected)
    tvm.build(func, target="llvm")(x, places, found)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic"])
def test_a_sampled_image(method):
    X = te.placeholder((2, 3, 11, 13), name="X")
    G = te.placeholder((2, 2, 7, 9), name="G")
    func = te.create_prim_func([X, G, topi.image.grid_sample(X, G, method)])
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 11, 13), "float32")
    grid = rng.uniform(-1.5, 1.5, (2, 2, 7, 9)).astype("float32")
    expected, found = (np.empty((2, 3, 7, 9), "float32") for _ in range(2))
    interpret(func, x, grid, expected)
    tvm.build(func, target="llvm")(x, grid, found)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
