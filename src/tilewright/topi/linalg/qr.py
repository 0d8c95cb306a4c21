"""Orthogonal and triangular factors of matrices, by reflections."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright import te
from tilewright.error import require_one_of
from tilewright.ir.arithmetic import minimum
from tilewright.ir.convert import cast
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices


def qr(x: Tensor, mode: str = "reduced") -> list[Tensor]:
    """Matrices ``Q`` with orthonormal columns and triangular ``R``, whose product is `x`.

    Args:
        x: ``(..., m, n)``.
        mode: ``"reduced"``: Q has ``min(m, n)`` columns; ``"complete"``: it has m.

    Returns:
        Q and R. The signs are those of reflections as LAPACK chooses them.
    """
    require_matrices("qr", x)
    require_one_of("topi.linalg.qr: `mode`", mode, ("reduced", "complete"))
    outer, (rows, columns) = x.shape[:-2], x.shape[-2:]
    reflected, scales = te.extern_primfunc(
        [in_one_batch(x)], _reflect(str(x.dtype)), "qr_reflections"
    )
    width = rows if mode == "complete" else minimum(rows, columns)
    basis = _basis(reflected, scales, width)
    triangle = te.compute(
        reflected.shape,
        lambda b, i, j: te.if_then_else(i <= j, reflected(b, i, j), te.const(0, x.dtype)),
        "T_triangle",
    )
    return [
        in_batches(basis, outer, (rows, width)),
        in_batches(triangle, outer, (width, columns)),
    ]


def householder_product(x: Tensor, scales: Tensor) -> Tensor:
    """The first columns of a product of reflections.

    Args:
        x: ``(..., m, n)``, with the direction of a reflection below the diagonal in each column.
        scales: ``(..., k)``, how far the first k of them reflect.

    Returns:
        The first n columns of the product, ``(..., m, n)``.
    """
    require_matrices("householder_product", x)
    outer, (rows, columns) = x.shape[:-2], x.shape[-2:]
    basis = _basis(in_one_batch(x), in_one_batch(scales, 1), columns)
    return in_batches(basis, outer, (rows, columns))


def _basis(reflections: Tensor, scales: Tensor, width: Expr) -> Tensor:
    places = te.compute((cast(INT64, width),), lambda i: i, "T_columns")
    program = _basis_of(str(reflections.dtype))
    return te.extern_primfunc([reflections, scales, places], program, "qr_orthonormal")


def _reflect(dtype: str) -> PrimFunc:
    """The program that reflects one column after the other onto its first elements.

    What is below the diagonal of the result are the directions of the reflections, whose elements
    on the diagonal are 1.
    """

    @T.prim_func(private=True)
    def reflect(x: T.handle, result: T.handle, scales: T.handle):
        batch = T.int64()
        rows = T.int64()
        columns = T.int64()
        X = T.match_buffer(x, (batch, rows, columns), dtype)  # noqa: N806
        R = T.match_buffer(result, (batch, rows, columns), dtype)  # noqa: N806
        S = T.match_buffer(scales, (batch, T.min(rows, columns)), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(
                    X[m, 0:rows, 0:columns], R[m, 0:rows, 0:columns], S[m, 0 : T.min(rows, columns)]
                )
                T.writes(R[m, 0:rows, 0:columns], S[m, 0 : T.min(rows, columns)])
                sums = T.alloc_buffer((columns,), dtype, scope="local")
                largest = T.alloc_buffer((1,), dtype, scope="local")
                norm = T.alloc_buffer((1,), dtype, scope="local")
                for i, j in T.grid(rows, columns):
                    R[m, i, j] = X[m, i, j]
                for k in range(T.min(rows, columns)):
                    # The largest element is divided by, so that no square is out of range.
                    largest[0] = T.Cast(dtype, 0)
                    for i in range(rows - k - 1):
                        largest[0] = T.max(largest[0], T.fabs(R[m, k + 1 + i, k]))
                    S[m, k] = T.Cast(dtype, 0)
                    if largest[0] > T.Cast(dtype, 0):
                        largest[0] = T.max(largest[0], T.fabs(R[m, k, k]))
                        norm[0] = T.Cast(dtype, 0)
                        for i in range(rows - k):
                            norm[0] = norm[0] + (R[m, k + i, k] / largest[0]) * (
                                R[m, k + i, k] / largest[0]
                            )
                        norm[0] = T.sqrt(norm[0]) * largest[0]
                        if R[m, k, k] > T.Cast(dtype, 0):
                            norm[0] = T.Cast(dtype, 0) - norm[0]
                        S[m, k] = (norm[0] - R[m, k, k]) / norm[0]
                        largest[0] = R[m, k, k] - norm[0]
                        R[m, k, k] = norm[0]
                        for i in range(rows - k - 1):
                            R[m, k + 1 + i, k] = R[m, k + 1 + i, k] / largest[0]
                        for j in range(columns - k - 1):
                            sums[k + 1 + j] = R[m, k, k + 1 + j]
                        for i in range(rows - k - 1):
                            for j in range(columns - k - 1):
                                sums[k + 1 + j] = (
                                    sums[k + 1 + j]
                                    + R[m, k + 1 + i, k] * R[m, k + 1 + i, k + 1 + j]
                                )
                        for j in range(columns - k - 1):
                            sums[k + 1 + j] = sums[k + 1 + j] * S[m, k]
                            R[m, k, k + 1 + j] = R[m, k, k + 1 + j] - sums[k + 1 + j]
                        for i in range(rows - k - 1):
                            for j in range(columns - k - 1):
                                R[m, k + 1 + i, k + 1 + j] = (
                                    R[m, k + 1 + i, k + 1 + j]
                                    - R[m, k + 1 + i, k] * sums[k + 1 + j]
                                )

    return reflect


def _basis_of(dtype: str) -> PrimFunc:
    """The program that applies the reflections to unit vectors, the last reflection first."""

    @T.prim_func(private=True)
    def basis(x: T.handle, scales: T.handle, places: T.handle, result: T.handle):
        batch = T.int64()
        rows = T.int64()
        columns = T.int64()
        count = T.int64()
        width = T.int64()
        X = T.match_buffer(x, (batch, rows, columns), dtype)  # noqa: N806
        S = T.match_buffer(scales, (batch, count), dtype)  # noqa: N806
        I = T.match_buffer(places, (width,), "int64")  # noqa: E741, N806
        Q = T.match_buffer(result, (batch, rows, width), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:rows, 0:columns], S[m, 0:count], I[0:width], Q[m, 0:rows, 0:width])
                T.writes(Q[m, 0:rows, 0:width])
                sums = T.alloc_buffer((width,), dtype, scope="local")
                for i, j in T.grid(rows, width):
                    Q[m, i, j] = T.Select(i == I[j], T.Cast(dtype, 1), T.Cast(dtype, 0))
                for step in range(count):
                    k = count - 1 - step
                    for j in range(width):
                        sums[j] = Q[m, k, j]
                    for i in range(rows - k - 1):
                        for j in range(width):
                            sums[j] = sums[j] + X[m, k + 1 + i, k] * Q[m, k + 1 + i, j]
                    for j in range(width):
                        sums[j] = sums[j] * S[m, k]
                        Q[m, k, j] = Q[m, k, j] - sums[j]
                    for i in range(rows - k - 1):
                        for j in range(width):
                            Q[m, k + 1 + i, j] = Q[m, k + 1 + i, j] - X[m, k + 1 + i, k] * sums[j]

    return basis
