"""Symmetric matrices with elements on and beside the diagonal only, as parts of scripts."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright.script import tir as T  # noqa: N812
from tilewright.topi.linalg.reflections import reflect
from tilewright.topi.linalg.rotations import set_rotation, set_shift
from tilewright.topi.linalg.strips import LANES, strips_of


@T.macro
def tridiagonalize(A, n, directions, scales, diagonal, beside, row, lanes):  # noqa: N803
    """Reflect a symmetric matrix from both sides until it is tridiagonal.

    Golub and Van Loan, Matrix Computations, 8.3.1. All of the matrix is kept up to date, not only
    one triangle: its rows are its columns, and every loop is over a strip.
    """
    for k in range(n):
        diagonal[k] = A[k // LANES, k, k % LANES]
        if k < n - 1:
            for s in range(strips_of(n)):
                for v in T.vectorized(LANES):
                    directions[k, s * LANES + v] = A[s, k, v]
            reflect(directions, k, k + 1, n, scales, beside, lanes)
            # row = scale * v @ A
            for s in range((k + 1) // LANES, strips_of(n)):
                for v in T.vectorized(LANES):
                    lanes[v] = T.float64(0)
                for i in range(k + 1, n):
                    for v in T.vectorized(LANES):
                        lanes[v] = lanes[v] + directions[k, i] * A[s, i, v]
                for v in T.vectorized(LANES):
                    row[s * LANES + v] = lanes[v] * scales[k]
            # row = row - scale / 2 * (row @ v) * v
            lanes[0] = T.float64(0)
            for i in range(k + 1, n):
                lanes[0] = lanes[0] + row[i] * directions[k, i]
            lanes[0] = lanes[0] * scales[k] * T.float64(0.5)
            for i in range(k + 1, n):
                row[i] = row[i] - lanes[0] * directions[k, i]
            # A = A - v @ row - row @ v
            for s in range((k + 1) // LANES, strips_of(n)):
                for i in range(k + 1, n):
                    for v in T.vectorized(LANES):
                        A[s, i, v] = (
                            A[s, i, v]
                            - directions[k, i] * row[s * LANES + v]
                            - row[i] * directions[k, s * LANES + v]
                        )


@T.macro
def qr_step(diagonal, beside, first, last, angles, pair):
    """One implicit QR step with Wilkinson's shift on a block without zeros beside the diagonal.

    Golub and Van Loan, Matrix Computations, 8.3.2.
    """
    set_shift(pair, diagonal[last - 1] - diagonal[last], beside[last - 1] * beside[last - 1])
    pair[0] = diagonal[first] - diagonal[last] + pair[0]
    pair[1] = beside[first]
    for k in range(first, last):
        set_rotation(angles, k, pair)
        if k > first:
            beside[k - 1] = pair[2]
        # how much goes from one element of the diagonal to the other
        pair[2] = diagonal[k] - diagonal[k + 1]
        pair[3] = angles[k, 1] * (angles[k, 1] * pair[2] - T.float64(2) * angles[k, 0] * beside[k])
        diagonal[k] = diagonal[k] - pair[3]
        diagonal[k + 1] = diagonal[k + 1] + pair[3]
        beside[k] = (
            angles[k, 0] * angles[k, 0] * beside[k]
            - angles[k, 1] * angles[k, 1] * beside[k]
            - angles[k, 0] * angles[k, 1] * pair[2]
        )
        pair[0] = beside[k]
        if k < last - 1:
            pair[1] = angles[k, 1] * beside[k + 1]
            beside[k + 1] = angles[k, 0] * beside[k + 1]
