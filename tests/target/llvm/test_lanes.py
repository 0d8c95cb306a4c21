"""Combinations of the lanes of vectors, against numpy."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule


def combined(operator, dtype, lanes):
    @T.prim_func
    def function(A: T.Buffer((lanes,), dtype), B: T.Buffer((1,), dtype)):
        B[0] = T.reduce_lanes(operator, A[0:lanes])

    return function


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("lanes", [2, 16, 64])
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16"])
def test_operators(target, lanes, dtype):
    a = np.random.default_rng(lanes).integers(0, 3, lanes).astype(dtype)
    for operator, expected in (
        ("add", a.sum()),
        ("mul", a.prod()),
        ("min", a.min()),
        ("max", a.max()),
    ):
        b = np.zeros(1, dtype)
        tvm.build(combined(operator, dtype, lanes), target=target)(a, b)
        assert b[0] == expected.astype(dtype)


@pytest.mark.parametrize("position", [0, 7, 15])
def test_one_that_is_no_number_makes_the_maximum_none(position):
    a, b = np.ones(16, "float32"), np.zeros(1, "float32")
    a[position] = np.nan
    tvm.build(combined("max", "float32", 16), target="llvm")(a, b)
    assert np.isnan(b[0])


@T.prim_func
def row_sums(A: T.Buffer((7, 101), "float32"), B: T.Buffer((7,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, k in T.grid(7, 101):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@pytest.mark.parametrize("lanes", [4, 16, 40])
def test_a_vectorised_sum_has_its_lanes_in_registers(lanes):
    sch = Schedule(row_sums)
    i, k = sch.get_loops("B")
    i_0, i_1 = sch.split(i, [None, 2])
    k_0, k_1 = sch.split(k, [None, lanes])
    sch.reorder(i_0, k_0, i_1, k_1)
    sch.unroll(i_1)
    sch.vectorize(k_1)
    a = np.random.default_rng(0).standard_normal((7, 101)).astype("float32")
    b = np.full(7, np.nan, "float32")
    tvm.build(sch.mod, target="llvm")["row_sums"](a, b)
    np.testing.assert_allclose(b, a.sum(1, dtype="float64"), rtol=1e-5, atol=1e-5)
