"""The program that searches rows of elements in order."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.script import tir as T  # noqa: N812
from tilewright.tir.function import PrimFunc


def search_rows(dtype: DType, out_dtype: str, comes_before: Callable[[Any, Any], Expr]) -> PrimFunc:
    """The program that counts the elements of each row, ``(r, m)``, that come before values,
    ``(r, n)``.

    The part in which the place is gets half as long in each step, whatever the value is: nothing is
    left to a prediction of branches, and the steps of several values overlap.

    Args:
        dtype: of the elements and the values.
        out_dtype: of the places.
        comes_before: whether an element comes before a value.
    """
    element = str(dtype)

    @T.prim_func(private=True)
    def search(s: T.handle, v: T.handle, result: T.handle):
        r = T.int64()
        m = T.int64()
        n = T.int64()
        S = T.match_buffer(s, (r, m), element)  # noqa: N806
        V = T.match_buffer(v, (r, n), element)  # noqa: N806
        R = T.match_buffer(result, (r, n), out_dtype)  # noqa: N806
        for i, j in T.grid(r, n):
            with T.block("value"):
                row, column = T.axis.remap("SS", [i, j])
                T.reads(S[row, 0:m], V[row, column])
                T.writes(R[row, column])
                first = T.alloc_buffer((1,), "int64", scope="local")
                length = T.alloc_buffer((1,), "int64", scope="local")
                first[0] = T.int64(0)
                length[0] = m
                while length[0] > 1:
                    half = length[0] // 2
                    is_behind = comes_before(S[row, first[0] + half - 1], V[row, column])
                    first[0] = first[0] + half * T.Cast("int64", is_behind)
                    length[0] = length[0] - half
                if length[0] > 0:
                    is_last = comes_before(S[row, first[0]], V[row, column])
                    first[0] = first[0] + T.Cast("int64", is_last)
                R[row, column] = T.Cast(out_dtype, first[0])

    return search
