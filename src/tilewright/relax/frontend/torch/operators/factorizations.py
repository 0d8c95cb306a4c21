"""Factorizations of matrices, and what is computed by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import te
from tilewright.ir.arithmetic import minimum
from tilewright.relax import op
from tilewright.relax.frontend.compositions import broadcast
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.slices import part
from tilewright.relax.frontend.torch.table import convert_by, converts
from tilewright.topi import linalg


def _several(graph: Graph, function: Any, *operands: Any, **options: Any) -> list[Any]:
    """The results of a function of `topi.linalg` that has several."""
    results = graph.emit_te(function, *operands, **options)
    return [graph.emit(results[n]) for n in range(len(results.struct_info.fields))]


def _transposed(graph: Graph, x: Any) -> Any:
    rank = graph.rank_of(x)
    return graph.permute(x, [*range(rank - 2), rank - 1, rank - 2])


def _diagonal(graph: Graph, x: Any) -> Any:
    def diagonal(matrices: te.Tensor) -> te.Tensor:
        *outer, rows, columns = matrices.shape
        return te.compute(
            (*outer, minimum(rows, columns)), lambda *i: matrices(*i, i[-1]), "T_diag"
        )

    return graph.emit_te(diagonal, x, primfunc_name_hint="diagonal")


def _ones_on_diagonal(graph: Graph, rows: Any, columns: Any, dtype: str) -> Any:
    row = op.expand_dims(op.arange(0, rows, 1, "int64"), 1)
    return graph.emit(op.astype(op.equal(row, op.arange(0, columns, 1, "int64")), dtype))


def _identity(graph: Graph, x: Any) -> Any:
    """A unit matrix for each of the matrices `x`, of as many rows."""
    *outer, rows, _ = graph.shape_of(x)
    unit = _ones_on_diagonal(graph, rows, rows, graph.dtype_of(x))
    return broadcast(graph, unit, [*outer, rows, rows])


def _first_failure(graph: Graph, failed: Any) -> Any:
    """What torch calls info: counted from 1, the first place along the diagonal; 0 if none."""
    fails = graph.cast(failed, "int32")
    place = op.add(op.astype(op.argmax(fails, -1), "int32"), graph.operand(1, "int32"))
    return graph.emit(op.multiply(op.max(fails, -1), place))


# --- Cholesky -------------------------------------------------------------------------------


@converts("aten.linalg_cholesky_ex")
def cholesky_ex(
    graph: Graph, x: Any, *, upper: bool = False, check_errors: bool = False
) -> list[Any]:
    """The factor, which is NaN from where on a matrix is not positive definite, and where."""
    factor = graph.emit_te(linalg.cholesky, x, upper)
    return [factor, _first_failure(graph, graph.emit(op.isnan(_diagonal(graph, factor))))]


@converts("aten.cholesky")
def cholesky(graph: Graph, x: Any, upper: bool = False) -> Any:
    """The factor."""
    return graph.emit_te(linalg.cholesky, x, upper)


@converts("aten.cholesky_solve")
def cholesky_solve(graph: Graph, b: Any, factor: Any, upper: bool = False) -> Any:
    """The solution for a matrix whose Cholesky factor is known."""
    lower, b = _of_same_batch(graph, _transposed(graph, factor) if upper else factor, b)
    half = graph.emit_te(linalg.solve_triangular, lower, b)
    return graph.emit_te(linalg.solve_triangular, _transposed(graph, lower), half, False)


@converts("aten.cholesky_inverse")
def cholesky_inverse(graph: Graph, factor: Any, upper: bool = False) -> Any:
    """The inverse of a matrix whose Cholesky factor is known."""
    return cholesky_solve(graph, _identity(graph, factor), factor, upper)


# --- triangular matrices --------------------------------------------------------------------


@converts("aten.linalg_solve_triangular")
def solve_triangular(
    graph: Graph, a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """The solution of ``a @ x == b``, or of ``x @ a == b``."""
    a, b = _of_same_batch(graph, a, b)
    if left:
        return graph.emit_te(linalg.solve_triangular, a, b, not upper, unitriangular)
    a, b = _transposed(graph, a), _transposed(graph, b)
    solved = graph.emit_te(linalg.solve_triangular, a, b, upper, unitriangular)
    return _transposed(graph, solved)


@converts("aten.triangular_solve")
def triangular_solve(
    graph: Graph, b: Any, a: Any, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> list[Any]:  # fmt: skip
    """The solution, and a copy of the matrix."""
    a, b = _of_same_batch(graph, a, b)
    if transpose:
        a, upper = _transposed(graph, a), not upper
    solved = graph.emit_te(linalg.solve_triangular, a, b, not upper, unitriangular)
    return [solved, _transposed(graph, a) if transpose else a]


def _of_same_batch(graph: Graph, a: Any, b: Any) -> list[Any]:
    """Both operands with the dimensions before the last two that torch broadcasts them to."""
    result = graph.result[0] if isinstance(graph.result, (list, tuple)) else graph.result
    outer = graph.sizes.shape(result.shape)[:-2]
    return [broadcast(graph, x, [*outer, *graph.shape_of(x)[-2:]]) for x in (a, b)]


# --- LU -------------------------------------------------------------------------------------


@converts("aten.linalg_lu_factor_ex")
def lu_factor_ex(
    graph: Graph, x: Any, *, pivot: bool = True, check_errors: bool = False
) -> list[Any]:
    """Both factors in one matrix; the exchanged rows, counted from 1; where a factor is 0."""
    factors, pivots = _factors(graph, x, pivot)
    from_one = op.add(graph.cast(pivots, "int32"), graph.operand(1, "int32"))
    return [factors, graph.emit(from_one), _singular(graph, factors)]


@converts("aten.linalg_lu")
def lu(graph: Graph, x: Any, *, pivot: bool = True) -> list[Any]:
    """A permutation and both factors."""
    factors, pivots = _factors(graph, x, pivot)
    return _unpacked(graph, factors, pivots)


@converts("aten.lu_unpack")
def lu_unpack(
    graph: Graph, factors: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> list[Any]:
    """The same of factors that are known."""
    if not unpack_data or not unpack_pivots:
        raise UnsupportedError("only the permutation and both factors together are supported")
    return _unpacked(graph, factors, _from_zero(graph, pivots))


@converts("aten.linalg_lu_solve")
def lu_solve(
    graph: Graph, factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    """The solution for a matrix whose factors are known."""
    if adjoint or not left:
        raise UnsupportedError("only equations `a @ x == b` are supported")
    b = broadcast(graph, b, graph.shape)
    return _solved(graph, factors, _from_zero(graph, pivots), b)


@converts("aten._linalg_solve_ex")
def solve_ex(
    graph: Graph, a: Any, b: Any, *, left: bool = True, check_errors: bool = False
) -> list[Any]:
    """The solution of ``a @ x == b``, or of ``x @ a == b``; the last result is where it fails."""
    is_vector = len(graph.result[0].shape) < graph.rank_of(a) or graph.rank_of(b) == 1
    shape = graph.sizes.shape(graph.result[0].shape)
    b = graph.emit(op.expand_dims(b, -1)) if is_vector else b
    outer = shape[:-1] if is_vector else shape[:-2]
    b = broadcast(graph, b, [*outer, *graph.shape_of(b)[-2:]])
    if not left:
        a, b = _transposed(graph, a), _transposed(graph, b)
    factors, pivots = _factors(graph, a)
    solved = _solved(graph, factors, pivots, b)
    solved = graph.reshape(solved if left else _transposed(graph, solved), shape)
    return [solved, None, None, _singular(graph, factors)]


@converts("aten.linalg_inv_ex")
def inv_ex(graph: Graph, x: Any, *, check_errors: bool = False) -> list[Any]:
    """The inverse, and where it fails."""
    factors, pivots = _factors(graph, x)
    inverse = _solved(graph, factors, pivots, _identity(graph, x))
    return [inverse, _singular(graph, factors)]


@converts("aten._linalg_det")
def det(graph: Graph, x: Any) -> list[Any]:
    """The determinant."""
    factors, pivots = _factors(graph, x)
    product = op.prod(_diagonal(graph, factors), -1)
    return [graph.emit(op.multiply(_parity(graph, pivots, graph.dtype_of(x)), product)), None, None]


@converts("aten._linalg_slogdet")
def slogdet(graph: Graph, x: Any) -> list[Any]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    factors, pivots = _factors(graph, x)
    diagonal = _diagonal(graph, factors)
    sign = op.multiply(_parity(graph, pivots, graph.dtype_of(x)), op.prod(op.sign(diagonal), -1))
    return [graph.emit(sign), graph.emit(op.sum(op.log(op.abs(diagonal)), -1)), None, None]


def _factors(graph: Graph, x: Any, pivot: bool = True) -> list[Any]:
    if not pivot:
        raise UnsupportedError("factors without exchanges of rows are not supported")
    return _several(graph, linalg.lu_factor, x)


def _from_zero(graph: Graph, pivots: Any) -> Any:
    return graph.emit(op.subtract(graph.cast(pivots, "int64"), graph.operand(1, "int64")))


def _permutation(graph: Graph, pivots: Any, rows: Any) -> Any:
    def permutation(exchanges: te.Tensor) -> te.Tensor:
        return linalg.permutation(exchanges, rows)

    return graph.emit_te(permutation, pivots, primfunc_name_hint="permutation")


def _solved(graph: Graph, factors: Any, pivots: Any, b: Any) -> Any:
    """The solution for right sides `b`, of which there may be many for each matrix."""
    outer, rows = graph.shape_of(b)[:-2], graph.shape_of(b)[-2]
    factors = broadcast(graph, factors, [*outer, rows, rows])
    pivots = broadcast(graph, pivots, [*outer, rows])
    order = _permutation(graph, pivots, rows)
    places = broadcast(graph, graph.emit(op.expand_dims(order, -1)), graph.shape_of(b))
    exchanged = graph.emit(op.gather_elements(b, places, graph.rank_of(b) - 2))
    half = graph.emit_te(linalg.solve_triangular, factors, exchanged, True, True)
    return graph.emit_te(linalg.solve_triangular, factors, half, False)


def _unpacked(graph: Graph, factors: Any, pivots: Any) -> list[Any]:
    *_, rows, columns = graph.shape_of(factors)
    dtype = graph.dtype_of(factors)
    order = _permutation(graph, pivots, rows)
    places = op.arange(0, rows, 1, "int64")
    # Row `order[i]` of the matrix is row i of the product of the factors.
    moved = op.equal(op.expand_dims(places, 1), op.expand_dims(order, -2))
    width = minimum(rows, columns)
    lower = op.tril(part(graph, factors, -1, 0, width), -1)
    upper = op.triu(part(graph, factors, -2, 0, width))
    unit = _ones_on_diagonal(graph, rows, width, dtype)
    permuted = graph.emit(op.astype(moved, dtype))
    return [permuted, graph.emit(op.add(lower, unit)), graph.emit(upper)]


def _singular(graph: Graph, factors: Any) -> Any:
    zero = graph.operand(0, graph.dtype_of(factors))
    return _first_failure(graph, graph.emit(op.equal(_diagonal(graph, factors), zero)))


def _parity(graph: Graph, pivots: Any, dtype: str) -> Any:
    """Minus one for an odd number of exchanges, and one for an even number."""
    places = op.arange(0, graph.shape_of(pivots)[-1], 1, "int64")
    exchanged = op.astype(op.not_equal(pivots, places), dtype)
    one, two = (graph.operand(n, dtype) for n in (1, 2))
    return graph.emit(op.prod(op.subtract(one, op.multiply(two, exchanged)), -1))


# --- orthogonal factors, eigenvalues and singular values ------------------------------------


@converts("aten.linalg_qr")
def qr(graph: Graph, x: Any, mode: str = "reduced") -> list[Any]:
    """An orthogonal and a triangular factor, with the signs of LAPACK."""
    basis, triangle = _several(graph, linalg.qr, x, "complete" if mode == "complete" else "reduced")
    if mode == "r":
        shape = graph.sizes.shape(graph.result[0].shape)
        return [graph.emit(op.zeros(shape, graph.dtype_of(x))), triangle]
    return [basis, triangle]


@converts("aten.linalg_householder_product")
def householder_product(graph: Graph, x: Any, scales: Any) -> Any:
    """The first columns of a product of reflections."""
    return graph.emit_te(linalg.householder_product, x, scales)


def _svd(
    graph: Graph, x: Any, full_matrices: bool = False, compute_uv: bool = True, *,
    driver: str | None = None,
) -> list[Any]:  # fmt: skip
    """Singular values with both matrices of vectors, whose signs need not be those of torch."""
    left, values, right = _several(graph, linalg.svd, x, full_matrices and compute_uv)
    return [left, values, right] if compute_uv else [None, values, None]


def _eigh(graph: Graph, x: Any, UPLO: str = "L", compute_v: bool = True) -> list[Any]:  # noqa: N803
    """Eigenvalues and eigenvectors, whose signs need not be those of torch."""
    values, vectors = _several(graph, linalg.eigh, x, UPLO == "L")
    return [values, vectors if compute_v else None]


convert_by({"aten._linalg_svd": _svd, "aten._linalg_eigh": _eigh})


@converts("aten.linalg_matrix_exp")
def matrix_exp(graph: Graph, x: Any) -> Any:
    """The exponential of a matrix."""
    return graph.emit_te(linalg.matrix_exp, x)


def _tolerance(value: Any, default: float) -> Any:
    return default if value is None else value


@converts("aten.linalg_pinv.atol_rtol_tensor", "aten.linalg_pinv.atol_rtol_float")
def pinv(
    graph: Graph, x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Any:
    """The pseudoinverse, by singular values; those up to a limit count as zero."""
    dtype, extents = graph.dtype_of(x), [number(n) for n in graph.shape_of(x)[-2:]]
    if not all(isinstance(extent, int) for extent in extents):
        raise UnsupportedError("the limit of matrices of dynamic sizes is not supported")
    relative = 0.0 if atol is not None else float(np.finfo(dtype).eps) * max(extents)
    left, values, right = _several(graph, linalg.svd, x)
    rtol, atol = (
        graph.operand(_tolerance(value, default), dtype)
        for value, default in ((rtol, relative), (atol, 0.0))
    )
    limit = op.maximum(op.multiply(op.max(values, -1, True), rtol), atol)
    zero = graph.operand(0, dtype)
    inverse = op.where(op.greater(values, limit), op.divide(graph.operand(1, dtype), values), zero)
    scaled = op.multiply(_transposed(graph, right), op.expand_dims(graph.emit(inverse), -2))
    return graph.emit(op.matmul(graph.emit(scaled), _transposed(graph, left)))
