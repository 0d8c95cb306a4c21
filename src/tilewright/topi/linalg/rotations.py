"""Givens' rotations, and the steps of QR algorithms that use them, as parts of scripts.

A rotation is a row of `angles`, ``(n, 2)``: its cosine and its sine.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright.script import tir as T  # noqa: N812
from tilewright.topi.linalg.strips import LANES


@T.macro
def set_rotation(angles, k, pair):
    """Let rotation `k` be what leaves nothing of the second of a pair.

    Args:
        pair: both, and then the first one after the rotation.
    """
    pair[2] = T.sqrt(pair[0] * pair[0] + pair[1] * pair[1])
    if pair[2] > T.float64(0):
        angles[k, 0] = pair[0] / pair[2]
        angles[k, 1] = pair[1] / pair[2]
    else:
        angles[k, 0] = T.float64(1)
        angles[k, 1] = T.float64(0)


@T.macro
def rotate_rows(matrix, strips, angles, first, last, lanes):
    """Rotate rows `first` and ``first + 1`` of a matrix in strips, and so on up to `last`."""
    for s in range(strips):
        for v in T.vectorized(LANES):
            lanes[v] = matrix[s, first, v]
        for r in range(last - first):
            for v in T.vectorized(LANES):
                matrix[s, first + r, v] = (
                    angles[first + r, 0] * lanes[v]
                    + angles[first + r, 1] * matrix[s, first + r + 1, v]
                )
            for v in T.vectorized(LANES):
                lanes[v] = (
                    angles[first + r, 0] * matrix[s, first + r + 1, v]
                    - angles[first + r, 1] * lanes[v]
                )
        for v in T.vectorized(LANES):
            matrix[s, last, v] = lanes[v]


@T.macro
def set_shift(pair, difference, square):
    """Let ``pair[0]`` be how far an eigenvalue of two rows and columns is below the last element.

    Of both eigenvalues it is the one that is nearer to that element.

    Args:
        difference: of both elements on the diagonal.
        square: of the element beside it.
    """
    pair[0] = difference * T.float64(0.5)
    pair[0] = pair[0] + T.Select(pair[0] < T.float64(0), T.float64(-1), T.float64(1)) * T.sqrt(
        pair[0] * pair[0] + square
    )
    if pair[0] != T.float64(0):
        pair[0] = square / pair[0]


@T.macro
def find_block(first, last, diagonal, beside, epsilon, tiny):
    """Let ``first[0]`` be where the block that ends at `last` begins: before it is a zero."""
    first[0] = last
    while first[0] > 0 and T.fabs(beside[first[0] - 1]) > tiny + epsilon * (
        T.fabs(diagonal[first[0] - 1]) + T.fabs(diagonal[first[0]])
    ):
        first[0] = first[0] - 1
