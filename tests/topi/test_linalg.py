"""Factorizations of matrices."""

import numpy as np
import pytest
from tests.topi.running import real, run

import tilewright as tvm
from tilewright import te
from tilewright.error import DTypeError, ShapeError
from tilewright.topi import linalg

DTYPES = ["float32", "float64"]


def compiled(function, *arrays):
    """The results of a function of tensors, compiled."""
    inputs = [te.placeholder(x.shape, str(x.dtype)) for x in arrays]
    results = function(*inputs)
    results = results if isinstance(results, list) else [results]
    build = tvm.build(te.create_prim_func([*inputs, *results]), target="llvm")
    out = [np.empty([int(n) for n in x.shape], str(x.dtype)) for x in results]
    build(*arrays, *out)
    return out


def close(ours, theirs):
    """Require results as exact as their dtype, for the largest element."""
    bound = 120 * np.finfo(ours.dtype).eps * max(1, np.abs(theirs).max(initial=0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound)


def transposed(x):
    return x.swapaxes(-1, -2)


def symmetric(count, n, dtype):
    x = real(count, n, n, dtype=dtype)
    return x @ transposed(x) + np.eye(n, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_cholesky(n, dtype):
    x = symmetric(2, n, dtype)
    expected = np.linalg.cholesky(x)
    close(run(linalg.cholesky, np.tril(x), dims=[("b", "n", "n")]), expected)
    (upper,) = compiled(lambda X: linalg.cholesky(X, upper=True), np.triu(x))
    close(upper, transposed(expected))


def test_cholesky_of_a_matrix_that_is_not_positive_definite():
    x = np.diag([4.0, -1.0, 9.0])
    assert np.isnan(run(linalg.cholesky, x)).tolist() == [
        [False] * 3, [False, True, False], [False, True, True],
    ]  # fmt: skip


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_solve_triangular(lower, unit):
    a, b = symmetric(2, 5, "float64"), real(2, 5, 3, dtype="float64")
    half = np.tril(a) if lower else np.triu(a)
    if unit:
        half = half * (1 - np.eye(5)) + np.eye(5)
    for results in (run, compiled):
        (x,) = np.asarray(results(lambda A, B: linalg.solve_triangular(A, B, lower, unit), a, b))[
            None if results is run else slice(None)
        ]
        np.testing.assert_allclose(half @ x, b, atol=1e-9 * np.abs(x).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (6, 3), (3, 6), (33, 33)])
def test_lu(shape, dtype):
    rows, columns = shape
    x = real(2, rows, columns, dtype=dtype)
    factors, pivots = compiled(linalg.lu_factor, x)
    (order,) = compiled(lambda P: linalg.permutation(P, rows), pivots)
    width = min(shape)
    lower = np.tril(factors[:, :, :width], -1) + np.eye(rows, width, dtype=dtype)
    assert np.abs(lower).max() <= 1
    close(lower @ np.triu(factors[:, :width]), np.take_along_axis(x, order[..., None], 1))
    if rows < 10:
        again = run(linalg.lu_factor, x, dims=[("b", "m", "n")])
        close(again[0], factors)
        assert np.array_equal(again[1], pivots)


def test_lu_of_a_singular_matrix():
    factors, _ = run(linalg.lu_factor, np.ones((3, 3)))
    assert np.triu(factors).tolist() == [[1, 1, 1], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (6, 3), (3, 6), (33, 20)])
def test_qr(shape, mode, dtype):
    x = real(2, *shape, dtype=dtype)
    for ours, theirs in zip(
        compiled(lambda X: linalg.qr(X, mode), x), np.linalg.qr(x, mode), strict=True
    ):
        close(ours, theirs)
    if shape[0] < 10:
        basis, triangle = run(lambda X: linalg.qr(X, mode), x, dims=[("b", "m", "n")])
        close(basis @ triangle, x)


def test_qr_of_large_numbers_and_zeros():
    x = np.array([[3e30, 0, 1], [4e30, 0, 2], [0, 0, 3]], "float32")
    basis, triangle = run(linalg.qr, x)
    close(transposed(basis) @ basis, np.eye(3))
    close(basis @ triangle, x)


@pytest.mark.parametrize(
    ("n", "lower", "dtype"),
    [
        *((n, True, "float64") for n in (0, 1, 2, 5, 16, 33)),
        (5, False, "float64"), (33, False, "float32"),
    ],
)  # fmt: skip
def test_eigh(n, lower, dtype):
    x = real(2, n, n, dtype=dtype)
    whole = np.tril(x) + transposed(np.tril(x, -1))
    x = whole if lower else transposed(whole)
    read = np.tril(x) if lower else np.triu(x)
    if n < 10:
        values, vectors = run(lambda X: linalg.eigh(X, lower), read, dims=[("b", "n", "n")])
    else:
        values, vectors = compiled(lambda X: linalg.eigh(X, lower), read)
    close(values, np.linalg.eigvalsh(whole))
    close(transposed(vectors) @ vectors, np.broadcast_to(np.eye(n), (2, n, n)))
    close(vectors * values[:, None] @ transposed(vectors), whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [0, 1e-3, 1, 30])
def test_matrix_exp(scale, dtype):
    x = real(2, 5, 5, dtype=dtype) * np.dtype(dtype).type(scale)
    x = x - transposed(x)  # the exponential of which is orthogonal
    (result,) = compiled(linalg.matrix_exp, x)
    values, vectors = np.linalg.eigh(1j * x.astype("float64"))
    expected = (vectors * np.exp(-1j * values)[:, None] @ vectors.conj().swapaxes(1, 2)).real
    bound = 60 * np.finfo(dtype).eps * max(1, np.abs(values).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=bound)
    np.testing.assert_allclose(run(linalg.matrix_exp, x), expected, rtol=0, atol=bound)


def test_matrix_exp_that_is_not_finite():
    assert np.isnan(run(linalg.matrix_exp, np.array([[np.nan, 0], [0, 1]]))).any()
    assert not np.isfinite(run(linalg.matrix_exp, np.array([[np.inf, 0], [0, 1]]))).all()


def test_eigh_of_numbers_of_many_sizes():
    x = real(20, 20, dtype="float64") * 10.0 ** -np.arange(20)
    scales = np.array([1, 1e-300, 1e300])
    values, vectors = compiled(linalg.eigh, scales[:, None, None] * (x + x.T))
    values = values / scales[:, None]
    close(vectors * values[:, None] @ transposed(vectors), np.broadcast_to(x + x.T, (3, 20, 20)))
    close(transposed(vectors) @ vectors, np.broadcast_to(np.eye(20), (3, 20, 20)))


def test_eigh_of_opposite_and_equal_eigenvalues():
    x = np.zeros((4, 4))
    x[0, 1] = x[1, 0] = 1
    values, vectors = run(linalg.eigh, x)
    close(values, np.array([-1.0, 0, 0, 1]))
    close(transposed(vectors) @ vectors, np.eye(4))


@pytest.mark.parametrize(
    ("shape", "full", "dtype"),
    [
        *((shape, False, "float64") for shape in [(1, 1), (5, 5), (6, 3), (33, 20), (20, 33)]),
        *((shape, True, "float64") for shape in [(3, 6), (33, 20)]),
        ((6, 3), False, "float32"), ((20, 33), True, "float32"),
    ],
)  # fmt: skip
def test_svd(shape, full, dtype):
    x = real(2, *shape, dtype=dtype)
    left, values, right = compiled(lambda X: linalg.svd(X, full), x)
    _require_svd(x, left, values, right, full)
    if max(shape) < 10:
        close(run(lambda X: linalg.svd(X, full), x)[1], values)


def _require_svd(x, left, values, right, full):
    rows, columns = x.shape[-2:]
    width = min(rows, columns)
    sizes = (rows, columns) if full else (width, width)
    assert left.shape[-1], right.shape[-2] == sizes
    close(values, np.linalg.svd(x, compute_uv=False))
    product = left[..., :width] * values[..., None, :] @ right[..., :width, :]
    close(product, x)
    for basis in (transposed(left) @ left, right @ transposed(right)):
        close(basis, np.broadcast_to(np.eye(basis.shape[-1]), basis.shape))


@pytest.mark.parametrize("full", [True, False])
def test_svd_of_lower_rank(full):
    x = real(5, 1) * real(1, 3) * np.float32(1e30)
    for matrix in (x, x.T, np.zeros((4, 3), "float32"), np.zeros((3, 3), "float32")):
        results = run(lambda X: linalg.svd(X, full), matrix)
        _require_svd(matrix, *results, full)


@pytest.mark.parametrize("diagonal", [[1, 0, 3, 4], [0, 2, 3, 0], [1, 0, 0, 4], [0, 0, 0, 0]])
def test_svd_of_two_diagonals_with_zeros(diagonal):
    matrix = np.diag(diagonal) + np.eye(4, k=1)
    _require_svd(matrix, *run(linalg.svd, matrix), False)


@pytest.mark.parametrize("function", [linalg.eigh, linalg.svd, linalg.cholesky, linalg.qr])
def test_nan(function):
    x = np.eye(3)
    x[1, 1] = np.nan
    results = run(function, x)
    results = results if isinstance(results, list) else [results]
    assert any(np.isnan(result).any() for result in results)


def test_what_is_refused():
    square, wide = te.placeholder((3, 3), "float16"), te.placeholder((3, 4))
    with pytest.raises(DTypeError, match=r"expected float32 or float64, got float16"):
        linalg.qr(square)
    with pytest.raises(ShapeError, match=r"rows and columns of a square matrix: 3 and 4 differ"):
        linalg.cholesky(wide)
    with pytest.raises(ShapeError, match=r"a matrix has 2 dimensions, not 1"):
        linalg.svd(te.placeholder((3,)))
    with pytest.raises(ShapeError, match=r"whether there are more rows or more columns"):
        linalg.svd(te.placeholder((te.var("m"), te.var("n"))))
