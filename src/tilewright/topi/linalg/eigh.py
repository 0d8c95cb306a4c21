"""Eigenvalues and eigenvectors of symmetric matrices, by reflections and implicit QR steps."""

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
from tilewright.topi.linalg.reflections import multiply_reflections
from tilewright.topi.linalg.rotations import find_block, rotate_rows
from tilewright.topi.linalg.strips import LANES, strips_of, transpose
from tilewright.topi.linalg.tridiagonal import qr_step, tridiagonalize

STEPS: Final = 30
"""Steps for each eigenvalue at most; fewer than two are usual."""


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
    """The program that makes matrices tridiagonal, and then diagonal.

    The rows of the second result are the eigenvectors. All is computed in double precision, so
    that the results have single precision.
    """
    wide = "float64"
    zero, missing = const(0.0, wide), const(float("nan"), dtype)
    epsilon, tiny = (const(float(x), wide) for x in (np.finfo(dtype).eps, np.finfo(wide).tiny))

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
                A = T.alloc_buffer((strips_of(n), n, LANES), wide, scope="local")  # noqa: N806
                V = T.alloc_buffer((strips_of(n), n, LANES), wide, scope="local")  # noqa: N806
                directions = T.alloc_buffer((n, strips_of(n) * LANES), wide, scope="local")
                scales = T.alloc_buffer((n,), wide, scope="local")
                diagonal = T.alloc_buffer((n,), wide, scope="local")
                beside = T.alloc_buffer((n,), wide, scope="local")
                row = T.alloc_buffer((strips_of(n) * LANES,), wide, scope="local")
                angles = T.alloc_buffer((n, 2), wide, scope="local")
                lanes = T.alloc_buffer((LANES,), wide, scope="local")
                pair = T.alloc_buffer((4,), wide, scope="local")
                scale = T.alloc_buffer((1,), wide, scope="local")
                first = T.alloc_buffer((1,), "int64", scope="local")
                last = T.alloc_buffer((1,), "int64", scope="local")
                steps = T.alloc_buffer((1,), "int64", scope="local")
                place = T.alloc_buffer((1,), "int64", scope="local")

                # The largest element becomes one, so that no square is out of range.
                scale[0] = tiny
                for i in range(n):
                    for j in range(i + 1):
                        scale[0] = T.max(scale[0], T.fabs(T.Cast(wide, X[m, i, j])))
                for s, i, v in T.grid(strips_of(n), n, LANES):
                    A[s, i, v] = zero
                for i in range(n):
                    for j in range(i + 1):
                        pair[0] = T.Cast(wide, X[m, i, j]) / scale[0]
                        A[j // LANES, i, j % LANES] = pair[0]
                        A[i // LANES, j, i % LANES] = pair[0]

                tridiagonalize(A, n, directions, scales, diagonal, beside, row, lanes)
                multiply_reflections(A, n, directions, scales, n - 1, n, 1, lanes)
                transpose(A, V, n, n)
                last[0] = n - 1
                steps[0] = T.int64(0)
                while last[0] > 0 and steps[0] < STEPS * n:
                    find_block(first, last[0], diagonal, beside, epsilon, tiny)
                    if first[0] == last[0]:
                        last[0] = last[0] - 1
                    else:
                        steps[0] = steps[0] + 1
                        qr_step(diagonal, beside, first[0], last[0], angles, pair)
                        rotate_rows(V, strips_of(n), angles, first[0], last[0], lanes)

                # Values that are NaN have no place in order: what they leave out is NaN.
                for i in range(n):
                    D[m, i] = missing
                    for j in range(n):
                        R[m, i, j] = missing
                for i in range(n):
                    place[0] = T.int64(0)
                    for j in range(n):
                        if diagonal[j] < diagonal[i] or (diagonal[j] == diagonal[i] and j < i):
                            place[0] = place[0] + 1
                    D[m, place[0]] = T.Cast(dtype, diagonal[i] * scale[0])
                    for j in range(n):
                        R[m, place[0], j] = T.Cast(dtype, V[j // LANES, i, j % LANES])

    return diagonalize
