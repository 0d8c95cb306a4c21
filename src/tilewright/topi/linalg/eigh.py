"""Eigenvalues and eigenvectors of symmetric matrices, by Jacobi's rotations."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright import te
from tilewright.ir.convert import const
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi.linalg.batches import in_batches, in_one_batch, require_matrices
from tilewright.topi.linalg.rotations import rotate_rows, set_angle

SWEEPS: Final = 40
"""How often all pairs are rotated at most; six to ten times are usual."""


def eigh(x: Tensor, lower: bool = True) -> list[Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices.

    Args:
        x: ``(..., n, n)``; only the elements on the diagonal and on one side of it are read.
        lower: whether it is the side below the diagonal.

    Returns:
        The eigenvalues, the least one first, ``(..., n)``; and the eigenvectors, as columns in the
        same order, ``(..., n, n)``. The sign of a vector is arbitrary.
    """
    require_matrices("eigh", x, square=True)
    outer, extents = x.shape[:-2], x.shape[-2:]
    matrices = in_one_batch(x, transpose=not lower)
    values, vectors = te.extern_primfunc([matrices], _program(str(x.dtype)), "eigh")
    return [
        in_batches(values, outer, extents[:1]), in_batches(vectors, outer, extents, transpose=True)
    ]  # fmt: skip


def _program(dtype: str) -> PrimFunc:
    """The program that rotates pairs of rows and columns until no pair is coupled.

    The rows of the second result are the eigenvectors. There are many rotations, one after the
    other: they are in double precision, so that the results have single precision.
    """
    wide = "float64"
    zero, one = (const(float(n), wide) for n in range(2))
    missing = const(float("nan"), dtype)
    epsilon = const(float(np.finfo(wide).eps), wide)

    @T.prim_func(private=True)
    def diagonalize(x: T.handle, values: T.handle, vectors: T.handle):
        batch = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (batch, n, n), dtype)  # noqa: N806
        D = T.match_buffer(values, (batch, n), dtype)  # noqa: N806
        R = T.match_buffer(vectors, (batch, n, n), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:n, 0:n])
                T.writes(D[m, 0:n], R[m, 0:n, 0:n])
                A = T.alloc_buffer((n, n), wide, scope="local")  # noqa: N806
                V = T.alloc_buffer((n, n), wide, scope="local")  # noqa: N806
                rotated = T.alloc_buffer((1,), "int64", scope="local")
                sweep = T.alloc_buffer((1,), "int64", scope="local")
                place = T.alloc_buffer((1,), "int64", scope="local")
                # Elements up to this count as zero.
                least = T.alloc_buffer((1,), wide, scope="local")
                # tangent, cosine and sine of the angle, and an element before it changes
                angle = T.alloc_buffer((4,), wide, scope="local")
                least[0] = zero
                for i, j in T.grid(n, n):
                    A[i, j] = T.Cast(wide, T.if_then_else(j <= i, X[m, i, j], X[m, j, i]))
                    V[i, j] = T.Select(i == j, one, zero)
                    least[0] = T.max(least[0], epsilon * T.fabs(A[i, j]))
                rotated[0] = T.int64(1)
                sweep[0] = T.int64(0)
                while rotated[0] > 0 and sweep[0] < SWEEPS:
                    rotated[0] = T.int64(0)
                    sweep[0] = sweep[0] + 1
                    for p in range(n):
                        for r in range(n - p - 1):
                            q = p + 1 + r
                            if T.fabs(A[p, q]) > least[0]:
                                rotated[0] = T.int64(1)
                                set_angle(angle, A[q, q] - A[p, p], A[p, q])
                                rotate_rows(A, p, q, n, angle)
                                for j in range(n):
                                    angle[3] = A[j, p]
                                    A[j, p] = angle[1] * angle[3] - angle[2] * A[j, q]
                                    A[j, q] = angle[2] * angle[3] + angle[1] * A[j, q]
                                A[p, q] = zero
                                A[q, p] = zero
                                rotate_rows(V, p, q, n, angle)
                # Values that are NaN have no place in order: what they leave out is NaN.
                for i in range(n):
                    D[m, i] = missing
                    for j in range(n):
                        R[m, i, j] = missing
                for i in range(n):
                    place[0] = T.int64(0)
                    for j in range(n):
                        if A[j, j] < A[i, i] or (A[j, j] == A[i, i] and j < i):
                            place[0] = place[0] + 1
                    D[m, place[0]] = T.Cast(dtype, A[i, i])
                    for j in range(n):
                        R[m, place[0], j] = T.Cast(dtype, V[i, j])

    return diagonalize
