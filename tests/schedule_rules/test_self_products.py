"""Products of a matrix and itself."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.ir import DType
from tilewright.target import Target

SUMS = {"float32": "float32", "float16": "float32", "bfloat16": "float32", "int8": "int32"}
FORMS = {
    "A @ A": lambda A, i, j, k: (A[i, k], A[k, j]),
    "A @ A.T": lambda A, i, j, k: (A[i, k], A[j, k]),
    "A.T @ A": lambda A, i, j, k: (A[k, i], A[k, j]),
}
ZEN4 = Target("llvm -num-cores=1 -mtriple=x86_64-linux-gnu -mcpu=znver4")


def product(form, dtype, n):
    """The square of a matrix, or its product with its transpose, plus one."""
    A, wide = te.placeholder((n, n), dtype, "A"), SUMS[dtype]
    k = te.reduce_axis((0, n), "k")

    def element(i, j):
        left, right = FORMS[form](A, i, j, k)
        return te.sum(left.astype(wide) * right.astype(wide), k)

    C = te.compute((n, n), element, "C")
    return te.create_prim_func([A, te.compute((n, n), lambda i, j: C[i, j] + 1, "D")])


@pytest.mark.parametrize("n", [16, 57])
@pytest.mark.parametrize("dtype", SUMS)
@pytest.mark.parametrize("form", FORMS)
def test_results(form, dtype, n):
    data = np.random.default_rng(0).integers(-4, 5, (n, n)).astype(DType(dtype).numpy)
    out = tvm.nd.empty((n, n), SUMS[dtype])
    tvm.build(product(form, dtype, n), target="llvm")(tvm.nd.array(data), out)
    exact = data.astype("float64")
    left, right = exact, exact
    if form == "A @ A.T":
        right = exact.T
    elif form == "A.T @ A":
        left = exact.T
    np.testing.assert_array_equal(out.numpy(), left @ right + 1)


@pytest.mark.parametrize("form", FORMS)
def test_they_are_products_like_others(form):
    text = str(tvm.default_schedule(product(form, "bfloat16", 128), ZEN4).mod)
    assert "T.dp2a(" in text
    assert "A_reindex = " not in text  # what packs the operand reads `A` itself


@pytest.mark.parametrize("form", FORMS)
def test_halves_are_converted_once(form):
    sch = tvm.default_schedule(product(form, "float16", 128), ZEN4)
    body = str(sch.get(sch.get_block("C", func_name="main")).body)
    assert "T.Cast" not in body


def test_squares_and_products_with_places_from_memory():
    A, P = te.placeholder((16, 16), "float32", "A"), te.placeholder((16,), "int32", "P")
    k, r = te.reduce_axis((0, 16), "k"), te.reduce_axis((0, 16), "r")
    squares = te.compute((16,), lambda i: te.sum(A[i, k] * A[i, k], k), "S")
    mixed = te.compute((16, 16), lambda i, j: te.sum(A[P[i], r] * A[r, j], r), "M")
    func = te.create_prim_func([A, P, squares, mixed])
    rng = np.random.default_rng(0)
    data = rng.integers(-4, 5, (16, 16)).astype("float32")
    places = rng.permutation(16).astype("int32")
    outs = tvm.nd.empty((16,), "float32"), tvm.nd.empty((16, 16), "float32")
    tvm.build(func, target="llvm")(tvm.nd.array(data), tvm.nd.array(places), *outs)
    np.testing.assert_array_equal(outs[0].numpy(), (data * data).sum(1))
    np.testing.assert_array_equal(outs[1].numpy(), data[places] @ data)
