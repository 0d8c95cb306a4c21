"""Matrices with elements on the diagonal and on the right of it only, as parts of scripts."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright.script import tir as T  # noqa: N812
from tilewright.topi.linalg.reflections import reflect, reflect_rows
from tilewright.topi.linalg.rotations import set_rotation, set_shift
from tilewright.topi.linalg.strips import LANES, strips_of


@T.macro
def bidiagonalize(
    A, rows, columns, left, left_scales, right, right_scales, diagonal, beside,  # noqa: N803
    products, row_lanes, lanes,
):  # fmt: skip
    """Reflect a matrix from the left and the right in turns until it is bidiagonal.

    Golub and Van Loan, Matrix Computations, 5.4.8, for as many rows as columns or more.
    """
    for k in range(columns):
        for i in range(rows):
            left[k, i] = A[k // LANES, i, k % LANES]
        reflect(left, k, k, rows, left_scales, diagonal, lanes)
        for s in range(k // LANES, strips_of(columns)):
            reflect_rows(A, s, k, rows - k, left, k, left_scales, lanes)
        if k < columns - 1:
            for s in range(strips_of(columns)):
                for v in T.vectorized(LANES):
                    right[k, s * LANES + v] = A[s, k, v]
            reflect(right, k, k + 1, columns, right_scales, beside, lanes)
            # products = scale * A @ v
            for i in range(k + 1, rows):
                for v in T.vectorized(LANES):
                    row_lanes[i, v] = T.float64(0)
            for s in range((k + 1) // LANES, strips_of(columns)):
                for i in range(k + 1, rows):
                    for v in T.vectorized(LANES):
                        row_lanes[i, v] = row_lanes[i, v] + A[s, i, v] * right[k, s * LANES + v]
            for i in range(k + 1, rows):
                products[i] = T.float64(0)
                for v in T.unroll(LANES):
                    products[i] = products[i] + row_lanes[i, v]
                products[i] = products[i] * right_scales[k]
            # A = A - products @ v
            for s in range((k + 1) // LANES, strips_of(columns)):
                for i in range(k + 1, rows):
                    for v in T.vectorized(LANES):
                        A[s, i, v] = A[s, i, v] - products[i] * right[k, s * LANES + v]


@T.macro
def qr_step(diagonal, beside, first, last, left, right, pair):
    """One implicit QR step on a block without zeros, with rotations from the left and the right.

    Golub and Van Loan, Matrix Computations, 8.6.1.
    """
    # The shift is that of the last two rows of the transposed of the block times the block.
    pair[3] = diagonal[last - 1] * diagonal[last - 1]
    if last - first > 1:
        pair[3] = pair[3] + beside[last - 2] * beside[last - 2]
    pair[1] = diagonal[last] * diagonal[last] + beside[last - 1] * beside[last - 1]
    pair[2] = diagonal[last - 1] * beside[last - 1]
    set_shift(pair, pair[3] - pair[1], pair[2] * pair[2])
    pair[0] = diagonal[first] * diagonal[first] - pair[1] + pair[0]
    pair[1] = diagonal[first] * beside[first]
    for k in range(first, last):
        set_rotation(right, k, pair)
        if k > first:
            beside[k - 1] = pair[2]
        pair[0] = right[k, 0] * diagonal[k] + right[k, 1] * beside[k]
        pair[1] = right[k, 1] * diagonal[k + 1]
        beside[k] = right[k, 0] * beside[k] - right[k, 1] * diagonal[k]
        diagonal[k + 1] = right[k, 0] * diagonal[k + 1]
        set_rotation(left, k, pair)
        diagonal[k] = pair[2]
        pair[0] = left[k, 0] * beside[k] + left[k, 1] * diagonal[k + 1]
        diagonal[k + 1] = left[k, 0] * diagonal[k + 1] - left[k, 1] * beside[k]
        beside[k] = pair[0]
        if k < last - 1:
            pair[1] = left[k, 1] * beside[k + 1]
            beside[k + 1] = left[k, 0] * beside[k + 1]


@T.macro
def clear_row(diagonal, beside, k, last, vectors, strips, angles, pair):
    """Rotate row `k`, whose element on the diagonal is zero, with each row below: it becomes zero.

    Golub and Van Loan, Matrix Computations, 8.6.2. The rows of `vectors` are rotated, too.
    """
    pair[1] = beside[k]
    beside[k] = T.float64(0)
    for below in range(k + 1, last + 1):
        pair[0] = diagonal[below]
        set_rotation(angles, 0, pair)
        diagonal[below] = pair[2]
        if below < last:
            pair[1] = T.float64(0) - angles[0, 1] * beside[below]
            beside[below] = angles[0, 0] * beside[below]
        for s in range(strips):
            for v in range(LANES):
                pair[3] = vectors[s, k, v]
                vectors[s, k, v] = angles[0, 0] * pair[3] - angles[0, 1] * vectors[s, below, v]
                vectors[s, below, v] = angles[0, 0] * vectors[s, below, v] + angles[0, 1] * pair[3]
