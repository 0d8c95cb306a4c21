"""Jacobi's rotations of pairs of rows, as parts of scripts."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright.script import tir as T  # noqa: N812


@T.macro
def set_angle(angle, difference, coupling):
    """The tangent, cosine and sine of the angle by which a rotation makes a pair independent.

    ``difference / (2 * coupling)`` is the cotangent of twice the angle.
    """
    angle[0] = difference / (T.float64(2) * coupling)
    angle[0] = T.Select(angle[0] < T.float64(0), T.float64(0) - T.float64(1), T.float64(1)) / (
        T.fabs(angle[0]) + T.sqrt(T.float64(1) + angle[0] * angle[0])
    )
    angle[1] = T.float64(1) / T.sqrt(T.float64(1) + angle[0] * angle[0])
    angle[2] = angle[0] * angle[1]


@T.macro
def rotate_rows(matrix, p, q, columns, angle):
    """Rotate two rows; the last element of `angle` keeps what changes first."""
    for j in range(columns):
        angle[3] = matrix[p, j]
        matrix[p, j] = angle[1] * angle[3] - angle[2] * matrix[q, j]
        matrix[q, j] = angle[2] * angle[3] + angle[1] * matrix[q, j]
