"""Singular values and vectors, by Jacobi's rotations of rows."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright import te
from tilewright.arith.analyzer import Analyzer
from tilewright.error import ShapeError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.te.tensor import shape_text
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices
from tilewright.topi.linalg.rotations import rotate_rows, set_angle

SWEEPS: Final = 40
"""How often all pairs are rotated at most; six to ten times are usual."""


def svd(x: Tensor, full_matrices: bool = False) -> list[Tensor]:
    """Matrices ``U`` and ``Vh`` and singular values ``S`` with ``U * S @ Vh`` equal to `x`.

    Args:
        x: ``(..., m, n)``; which of m and n is the larger one must be known at compile time.
        full_matrices: whether ``U`` is ``(..., m, m)`` and ``Vh`` is ``(..., n, n)``; by default
            they have ``min(m, n)`` columns and rows.

    Returns:
        ``U``, whose columns are orthonormal; ``S``, the largest one first; ``Vh``, whose rows are
        orthonormal. The signs of pairs of vectors are arbitrary.
    """
    require_matrices("svd", x)
    outer, (rows, columns) = x.shape[:-2], x.shape[-2:]
    is_tall, is_wide = Analyzer().can_prove(rows >= columns), Analyzer().can_prove(rows <= columns)
    if not is_tall and not is_wide:
        raise ShapeError(
            "topi.linalg.svd: whether there are more rows or more columns must be known, for the "
            f"shape {shape_text(x.shape)} it is not"
        )
    few, many = (columns, rows) if is_tall else (rows, columns)
    matrices = in_one_batch(x, transpose=is_tall)
    width = many if full_matrices else few
    places = te.compute((cast(INT64, width),), lambda i: i, "T_vectors")
    values, inner, wide = te.extern_primfunc([matrices, places], _program(str(x.dtype)), "svd")
    singular = in_batches(values, outer, (few,))
    of_few = in_batches(inner, outer, (few, few), transpose=not is_tall)
    if is_tall:
        return [in_batches(wide, outer, (many, width), transpose=True), singular, of_few]
    return [of_few, singular, in_batches(wide, outer, (width, many))]


def _program(dtype: str) -> PrimFunc:
    """The program that rotates pairs of rows until all are orthogonal.

    With ``W`` for the matrix, of at most as many rows as columns, and ``G`` for all rotations, the
    rows of ``G @ W`` are the singular values times the rows of the last result; the second result
    is ``G``. Rows that are zero, and those that a square matrix has in addition, are completed to
    an orthonormal basis. There are many rotations, one after the other: they are in double
    precision, so that the results have single precision.
    """
    double = "float64"
    zero, one, two = (const(float(n), double) for n in range(3))
    missing, none = const(float("nan"), dtype), const(0.0, dtype)
    epsilon = const(float(np.finfo(double).eps), double)
    tiny = const(float(np.finfo(dtype).tiny), double)

    @T.prim_func(private=True)
    def factorize(x: T.handle, places: T.handle, values: T.handle, inner: T.handle, wide: T.handle):
        batch = T.int64()
        rows = T.int64()
        columns = T.int64()
        width = T.int64()
        X = T.match_buffer(x, (batch, rows, columns), dtype)  # noqa: N806
        I = T.match_buffer(places, (width,), "int64")  # noqa: E741, N806
        S = T.match_buffer(values, (batch, rows), dtype)  # noqa: N806
        G = T.match_buffer(inner, (batch, rows, rows), dtype)  # noqa: N806
        P = T.match_buffer(wide, (batch, width, columns), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:rows, 0:columns], I[0:width], P[m, 0:width, 0:columns])
                T.writes(S[m, 0:rows], G[m, 0:rows, 0:rows], P[m, 0:width, 0:columns])
                W = T.alloc_buffer((rows, columns), double, scope="local")  # noqa: N806
                V = T.alloc_buffer((rows, rows), double, scope="local")  # noqa: N806
                norms = T.alloc_buffer((rows,), double, scope="local")
                free = T.alloc_buffer((columns,), double, scope="local")
                rotated = T.alloc_buffer((1,), "int64", scope="local")
                sweep = T.alloc_buffer((1,), "int64", scope="local")
                place = T.alloc_buffer((1,), "int64", scope="local")
                scale = T.alloc_buffer((1,), double, scope="local")
                # the squares of both rows and their product
                sums = T.alloc_buffer((3,), double, scope="local")
                # tangent, cosine and sine of the angle, and an element before it changes
                angle = T.alloc_buffer((4,), double, scope="local")

                # The largest element becomes one, so that no square is out of range.
                scale[0] = tiny
                for i, j in T.grid(rows, columns):
                    scale[0] = T.max(scale[0], T.fabs(T.Cast(double, X[m, i, j])))
                for i, j in T.grid(rows, columns):
                    W[i, j] = T.Cast(double, X[m, i, j]) / scale[0]
                for i, j in T.grid(rows, rows):
                    V[i, j] = T.Select(i == j, one, zero)
                rotated[0] = T.int64(1)
                sweep[0] = T.int64(0)
                while rotated[0] > 0 and sweep[0] < SWEEPS:
                    rotated[0] = T.int64(0)
                    sweep[0] = sweep[0] + 1
                    for p in range(rows):
                        for r in range(rows - p - 1):
                            q = p + 1 + r
                            for n in T.unroll(3):
                                sums[n] = zero
                            for j in range(columns):
                                sums[0] = sums[0] + W[p, j] * W[p, j]
                                sums[1] = sums[1] + W[q, j] * W[q, j]
                                sums[2] = sums[2] + W[p, j] * W[q, j]
                            if T.fabs(sums[2]) > two * epsilon * T.sqrt(
                                T.Cast(double, columns)
                            ) * T.sqrt(sums[0]) * T.sqrt(sums[1]):
                                rotated[0] = T.int64(1)
                                set_angle(angle, sums[1] - sums[0], sums[2])
                                rotate_rows(W, p, q, columns, angle)
                                rotate_rows(V, p, q, rows, angle)
                for i in range(rows):
                    norms[i] = zero
                    for j in range(columns):
                        norms[i] = norms[i] + W[i, j] * W[i, j]
                    norms[i] = T.sqrt(norms[i])

                # Values that are NaN have no place in order: what they leave out is NaN.
                for i in range(rows):
                    S[m, i] = missing
                    for j in range(rows):
                        G[m, i, j] = missing
                for i, j in T.grid(width, columns):
                    P[m, i, j] = T.Select(I[i] < rows, missing, none)
                for i in range(rows):
                    place[0] = T.int64(0)
                    for j in range(rows):
                        if norms[j] > norms[i] or (norms[j] == norms[i] and j < i):
                            place[0] = place[0] + 1
                    S[m, place[0]] = T.Cast(dtype, norms[i] * scale[0])
                    for j in range(rows):
                        G[m, place[0], j] = T.Cast(dtype, V[i, j])
                    for j in range(columns):
                        P[m, place[0], j] = T.Cast(
                            dtype, T.if_then_else(norms[i] > tiny, W[i, j] / norms[i], zero)
                        )

                # In place of zeros comes what is left, without the vectors so far, of the unit
                # vector of which most is left.
                for i in range(width):
                    sums[0] = zero
                    for j in range(columns):
                        sums[0] = sums[0] + T.fabs(T.Cast(double, P[m, i, j]))
                    if sums[0] == zero:
                        for j in range(columns):
                            free[j] = one
                        for k in range(width):
                            for j in range(columns):
                                angle[3] = T.Cast(double, P[m, k, j])
                                free[j] = free[j] - angle[3] * angle[3]
                        place[0] = T.int64(0)
                        for j in range(columns):
                            if free[j] > free[place[0]]:
                                place[0] = j
                        for j in range(columns):
                            free[j] = T.Select(j == place[0], one, zero)
                        for _again in range(2):
                            for k in range(width):
                                sums[1] = zero
                                for j in range(columns):
                                    sums[1] = sums[1] + free[j] * T.Cast(double, P[m, k, j])
                                for j in range(columns):
                                    free[j] = free[j] - sums[1] * T.Cast(double, P[m, k, j])
                        sums[1] = zero
                        for j in range(columns):
                            sums[1] = sums[1] + free[j] * free[j]
                        for j in range(columns):
                            P[m, i, j] = T.Cast(dtype, free[j] / T.sqrt(sums[1]))

    return factorize
