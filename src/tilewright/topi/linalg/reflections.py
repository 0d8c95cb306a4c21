"""Householder's reflections, as parts of scripts.

The reflection ``I - scales[k] * v @ v.T`` is row ``v = directions[k]``, which is zero before the
first element that it changes and one there. Rows are as long as whole strips.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from tilewright.script import tir as T  # noqa: N812
from tilewright.topi.linalg.strips import LANES, strips_of


@T.macro
def reflect(directions, k, first, size, scales, results, lanes):
    """Make a vector, row `k` of `directions`, the reflection of it onto its element `first`.

    Elements before `first` do not count. ``results[k]`` becomes what is then at `first`.
    """
    for v in T.vectorized(LANES):
        lanes[v] = T.float64(0)
    for s in range(strips_of(size)):
        for v in T.vectorized(LANES):
            lanes[v] = lanes[v] + T.Select(
                s * LANES + v > first,
                directions[k, s * LANES + v] * directions[k, s * LANES + v],
                T.float64(0),
            )
    results[k] = T.float64(0)
    for v in T.unroll(LANES):
        results[k] = results[k] + lanes[v]
    scales[k] = T.float64(0)
    lanes[0] = T.float64(1)
    if results[k] == T.float64(0):
        results[k] = directions[k, first]
    else:
        results[k] = T.sqrt(results[k] + directions[k, first] * directions[k, first])
        if directions[k, first] > T.float64(0):
            results[k] = T.float64(0) - results[k]
        scales[k] = (results[k] - directions[k, first]) / results[k]
        lanes[0] = T.float64(1) / (directions[k, first] - results[k])
    for j in range(size):
        directions[k, j] = T.Select(j > first, directions[k, j] * lanes[0], T.float64(0))
    directions[k, first] = T.float64(1)


@T.macro
def reflect_rows(matrix, s, first, count, directions, k, scales, lanes):
    """Reflect the columns of strip `s`: `count` rows from `first` on."""
    for v in T.vectorized(LANES):
        lanes[v] = T.float64(0)
    for i in range(count):
        for v in T.vectorized(LANES):
            lanes[v] = lanes[v] + directions[k, first + i] * matrix[s, first + i, v]
    for v in T.vectorized(LANES):
        lanes[v] = lanes[v] * scales[k]
    for i in range(count):
        for v in T.vectorized(LANES):
            matrix[s, first + i, v] = matrix[s, first + i, v] - directions[k, first + i] * lanes[v]


@T.macro
def multiply_reflections(product, columns, directions, scales, count, size, ahead, lanes):
    """Write the first columns of a product of reflections.

    Args:
        product: ``(strips, size, LANES)``, for so many columns.
        count: of reflections; that of row ``k`` changes elements from ``k + ahead`` on.
    """
    for s in range(strips_of(columns)):
        for i in range(size):
            for v in T.vectorized(LANES):
                product[s, i, v] = T.Select(i == s * LANES + v, T.float64(1), T.float64(0))
        for step in range(count):
            # Those that begin behind the columns of the strip leave its unit vectors as they are.
            if count - 1 - step + ahead < (s + 1) * LANES:
                reflect_rows(
                    product, s, count - 1 - step + ahead, size - (count - 1 - step) - ahead,
                    directions, count - 1 - step, scales, lanes,
                )  # fmt: skip
