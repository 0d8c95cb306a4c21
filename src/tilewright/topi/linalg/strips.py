"""Matrices cut into strips of columns, as parts of scripts.

Such a matrix is a buffer ``(strips, rows, LANES)``. Loops over the rows of a strip read memory from
one end to the other, a row is a few vectors, and what is summed over rows stays in registers.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from typing import Any, Final

from tilewright.script import tir as T  # noqa: N812

LANES: Final = 16
"""Columns of a strip."""


def strips_of(columns: Any) -> Any:
    """How many strips hold so many columns."""
    return (columns + (LANES - 1)) // LANES


@T.macro
def transpose(source, result, rows, columns):
    """Write the transposed of a matrix in strips; `result` has so many rows and columns."""
    for s in range(strips_of(columns)):
        for i in range(rows):
            for v in range(LANES):
                result[s, i, v] = T.if_then_else(
                    s * LANES + v < columns,
                    source[i // LANES, s * LANES + v, i % LANES],
                    T.float64(0),
                )
