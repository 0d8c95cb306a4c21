"""LU factors of matrices, with rows exchanged so that the largest elements are divided by."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright import te, tir
from tilewright.ir.arithmetic import minimum
from tilewright.ir.convert import cast
from tilewright.ir.dtype import INT64
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices


def lu_factor(x: Tensor) -> list[Tensor]:
    """Both triangular factors of matrices, and how their rows were exchanged.

    Args:
        x: ``(..., m, n)``.

    Returns:
        The upper factor on and above the diagonal, and below it the lower one, whose diagonal is 1:
        ``(..., m, n)``; and the row that each of the first ``min(m, n)`` rows was exchanged with,
        one after the other: ``(..., min(m, n))``, int64, counted from 0.
    """
    require_matrices("lu_factor", x)
    outer, (rows, columns) = x.shape[:-2], x.shape[-2:]
    matrices = in_one_batch(x)
    factors, pivots = te.extern_primfunc([matrices], _factorize(str(x.dtype)), "lu_factor")
    count = minimum(rows, columns)
    return [in_batches(factors, outer, (rows, columns)), in_batches(pivots, outer, (count,))]


def permutation(pivots: Tensor, rows: tir.PrimExpr) -> Tensor:
    """Which of the rows of a matrix is at each place after the exchanges of `lu_factor`.

    Args:
        pivots: ``(..., min(m, n))``, int64.
        rows: the number of rows, ``m``.
    """
    outer = pivots.shape[:-1]
    places = te.compute((cast(INT64, rows),), lambda i: i, "T_rows")
    order = te.extern_primfunc([in_one_batch(pivots, 1), places], _exchange(), "permutation")
    return in_batches(order, outer, (rows,))


def _factorize(dtype: str) -> PrimFunc:
    @T.prim_func(private=True)
    def factorize(x: T.handle, factors: T.handle, pivots: T.handle):
        batch = T.int64()
        rows = T.int64()
        columns = T.int64()
        X = T.match_buffer(x, (batch, rows, columns), dtype)  # noqa: N806
        F = T.match_buffer(factors, (batch, rows, columns), dtype)  # noqa: N806
        P = T.match_buffer(pivots, (batch, T.min(rows, columns)), "int64")  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:rows, 0:columns], F[m, 0:rows, 0:columns])
                T.writes(F[m, 0:rows, 0:columns], P[m, 0 : T.min(rows, columns)])
                best = T.alloc_buffer((1,), "int64", scope="local")
                kept = T.alloc_buffer((1,), dtype, scope="local")
                for i, j in T.grid(rows, columns):
                    F[m, i, j] = X[m, i, j]
                for k in range(T.min(rows, columns)):
                    best[0] = k
                    for i in range(rows - k - 1):
                        if T.fabs(F[m, k + 1 + i, k]) > T.fabs(F[m, best[0], k]):
                            best[0] = k + 1 + i
                    P[m, k] = best[0]
                    if best[0] != k:
                        for j in range(columns):
                            kept[0] = F[m, k, j]
                            F[m, k, j] = F[m, best[0], j]
                            F[m, best[0], j] = kept[0]
                    if F[m, k, k] != T.Cast(dtype, 0):
                        for i in range(rows - k - 1):
                            kept[0] = F[m, k + 1 + i, k] / F[m, k, k]
                            F[m, k + 1 + i, k] = kept[0]
                            for j in range(columns - k - 1):
                                F[m, k + 1 + i, k + 1 + j] = (
                                    F[m, k + 1 + i, k + 1 + j] - kept[0] * F[m, k, k + 1 + j]
                                )

    return factorize


def _exchange() -> PrimFunc:
    @T.prim_func(private=True)
    def exchange(pivots: T.handle, places: T.handle, result: T.handle):
        batch = T.int64()
        count = T.int64()
        rows = T.int64()
        P = T.match_buffer(pivots, (batch, count), "int64")  # noqa: N806
        I = T.match_buffer(places, (rows,), "int64")  # noqa: E741, N806
        R = T.match_buffer(result, (batch, rows), "int64")  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(P[m, 0:count], I[0:rows], R[m, 0:rows])
                T.writes(R[m, 0:rows])
                kept = T.alloc_buffer((1,), "int64", scope="local")
                for i in range(rows):
                    R[m, i] = I[i]
                for k in range(count):
                    kept[0] = R[m, k]
                    R[m, k] = R[m, P[m, k]]
                    R[m, P[m, k]] = kept[0]

    return exchange
