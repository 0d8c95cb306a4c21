"""Singular values and vectors, by reflections and implicit QR steps."""

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
from tilewright.topi.linalg.bidiagonal import bidiagonalize, clear_row, qr_step
from tilewright.topi.linalg.reflections import multiply_reflections
from tilewright.topi.linalg.rotations import find_block, rotate_rows
from tilewright.topi.linalg.strips import LANES, strips_of, transpose

STEPS: Final = 30
"""Steps for each singular value at most; about two are usual."""


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
    matrices = in_one_batch(x, transpose=not is_tall)
    width = many if full_matrices else few
    places = te.compute((cast(INT64, width),), lambda i: i, "T_vectors")
    values, inner, wide = te.extern_primfunc([matrices, places], _program(str(x.dtype)), "svd")
    singular = in_batches(values, outer, (few,))
    of_few = in_batches(inner, outer, (few, few), transpose=not is_tall)
    if is_tall:
        return [in_batches(wide, outer, (many, width), transpose=True), singular, of_few]
    return [of_few, singular, in_batches(wide, outer, (width, many))]


def _program(dtype: str) -> PrimFunc:
    """The program that makes matrices of as many rows as columns or more bidiagonal, then diagonal.

    The rows of the second result are the vectors on the right, and those of the third one the
    vectors on the left. All is computed in double precision, so that the results have single
    precision.
    """
    double = "float64"
    zero, missing = const(0.0, double), const(float("nan"), dtype)
    epsilon, tiny = (const(float(x), double) for x in (np.finfo(dtype).eps, np.finfo(double).tiny))

    @T.prim_func(private=True)
    def factorize(x: T.handle, places: T.handle, values: T.handle, inner: T.handle, wide: T.handle):
        batch = T.int64()
        rows = T.int64()
        columns = T.int64()
        width = T.int64()
        X = T.match_buffer(x, (batch, rows, columns), dtype)  # noqa: N806
        I = T.match_buffer(places, (width,), "int64")  # noqa: E741, N806
        S = T.match_buffer(values, (batch, columns), dtype)  # noqa: N806
        G = T.match_buffer(inner, (batch, columns, columns), dtype)  # noqa: N806
        P = T.match_buffer(wide, (batch, width, rows), dtype)  # noqa: N806
        for b in range(batch):
            with T.block("matrix"):
                m = T.axis.spatial(batch, b)
                T.reads(X[m, 0:rows, 0:columns], I[0:width])
                T.writes(S[m, 0:columns], G[m, 0:columns, 0:columns], P[m, 0:width, 0:rows])
                A = T.alloc_buffer((strips_of(columns), rows, LANES), double, scope="local")  # noqa: N806
                Q = T.alloc_buffer((strips_of(width), rows, LANES), double, scope="local")  # noqa: N806
                U = T.alloc_buffer((strips_of(rows), width, LANES), double, scope="local")  # noqa: N806
                V = T.alloc_buffer((strips_of(columns), columns, LANES), double, scope="local")  # noqa: N806
                left = T.alloc_buffer((columns, strips_of(rows) * LANES), double, scope="local")
                right = T.alloc_buffer((columns, strips_of(columns) * LANES), double, scope="local")
                left_scales = T.alloc_buffer((columns,), double, scope="local")
                right_scales = T.alloc_buffer((columns,), double, scope="local")
                left_angles = T.alloc_buffer((columns, 2), double, scope="local")
                right_angles = T.alloc_buffer((columns, 2), double, scope="local")
                diagonal = T.alloc_buffer((columns,), double, scope="local")
                beside = T.alloc_buffer((columns,), double, scope="local")
                products = T.alloc_buffer((rows,), double, scope="local")
                row_lanes = T.alloc_buffer((rows, LANES), double, scope="local")
                lanes = T.alloc_buffer((LANES,), double, scope="local")
                pair = T.alloc_buffer((4,), double, scope="local")
                scale = T.alloc_buffer((1,), double, scope="local")
                norm = T.alloc_buffer((1,), double, scope="local")
                first = T.alloc_buffer((1,), "int64", scope="local")
                last = T.alloc_buffer((1,), "int64", scope="local")
                steps = T.alloc_buffer((1,), "int64", scope="local")
                place = T.alloc_buffer((1,), "int64", scope="local")

                # The largest element becomes one, so that no square is out of range.
                scale[0] = tiny
                for i, j in T.grid(rows, columns):
                    scale[0] = T.max(scale[0], T.fabs(T.Cast(double, X[m, i, j])))
                for s, i, v in T.grid(strips_of(columns), rows, LANES):
                    A[s, i, v] = zero
                for i, j in T.grid(rows, columns):
                    A[j // LANES, i, j % LANES] = T.Cast(double, X[m, i, j]) / scale[0]
                for k, j in T.grid(columns, strips_of(rows) * LANES):
                    left[k, j] = zero

                bidiagonalize(
                    A, rows, columns, left, left_scales, right, right_scales, diagonal, beside,
                    products, row_lanes, lanes,
                )  # fmt: skip
                multiply_reflections(Q, width, left, left_scales, columns, rows, 0, lanes)
                transpose(Q, U, width, rows)
                multiply_reflections(
                    A, columns, right, right_scales, columns - 1, columns, 1, lanes
                )
                transpose(A, V, columns, columns)
                norm[0] = zero
                for i in range(columns):
                    norm[0] = T.max(norm[0], T.fabs(diagonal[i]))
                last[0] = columns - 1
                steps[0] = T.int64(0)
                while last[0] > 0 and steps[0] < STEPS * columns:
                    find_block(first, last[0], diagonal, beside, epsilon, tiny)
                    if first[0] == last[0]:
                        last[0] = last[0] - 1
                    else:
                        steps[0] = steps[0] + 1
                        place[0] = last[0]
                        for k in range(first[0], last[0]):
                            if T.fabs(diagonal[k]) <= epsilon * norm[0]:
                                place[0] = k
                        if place[0] < last[0]:
                            diagonal[place[0]] = zero
                            clear_row(
                                diagonal, beside, place[0], last[0], U, strips_of(rows),
                                left_angles, pair,
                            )  # fmt: skip
                        else:
                            qr_step(
                                diagonal, beside, first[0], last[0], left_angles, right_angles, pair
                            )
                            rotate_rows(U, strips_of(rows), left_angles, first[0], last[0], lanes)
                            rotate_rows(
                                V, strips_of(columns), right_angles, first[0], last[0], lanes
                            )

                # Values that are NaN have no place in order: what they leave out is NaN.
                for i in range(columns):
                    S[m, i] = missing
                    for j in range(columns):
                        G[m, i, j] = missing
                for i, j in T.grid(width, rows):
                    P[m, i, j] = T.if_then_else(
                        I[i] < columns, missing, T.Cast(dtype, U[j // LANES, i, j % LANES])
                    )
                for i in range(columns):
                    place[0] = T.int64(0)
                    for j in range(columns):
                        if T.fabs(diagonal[j]) > T.fabs(diagonal[i]) or (
                            T.fabs(diagonal[j]) == T.fabs(diagonal[i]) and j < i
                        ):
                            place[0] = place[0] + 1
                    S[m, place[0]] = T.Cast(dtype, T.fabs(diagonal[i]) * scale[0])
                    pair[0] = T.Select(diagonal[i] < zero, T.float64(-1), T.float64(1))
                    for j in range(columns):
                        G[m, place[0], j] = T.Cast(dtype, pair[0] * V[j // LANES, i, j % LANES])
                    for j in range(rows):
                        P[m, place[0], j] = T.Cast(dtype, U[j // LANES, i, j % LANES])

    return factorize
