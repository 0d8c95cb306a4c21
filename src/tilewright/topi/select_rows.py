"""The program that finds the element of each row that a number of others come before."""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright import tir
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.script import tir as T  # noqa: N812
from tilewright.tir.function import PrimFunc
from tilewright.topi.sort_rows import DIGIT_BITS, sort_key


def select_rows(dtype: DType, rank_of: Callable[[Any], Expr]) -> PrimFunc:
    """The program that finds the place, ``(m, 1)``, of one element in the order of each row,
    ``(m, n)``.

    Keys are looked at digit by digit, from the highest on. How often each digit occurs says which
    one the wanted element has; only elements with this digit stay, in their order. Digits that all
    keys of a row share are skipped.

    Args:
        dtype: of the elements.
        rank_of: from the length of a row to how many elements come before the wanted one.
    """
    element, unsigned = str(dtype), f"uint{dtype.bits}"
    digits, passes = 1 << DIGIT_BITS, dtype.bits // DIGIT_BITS

    def upper(key: Any, number: Any) -> Expr:
        return key >> tir.Cast(unsigned, (passes - 1 - number) * DIGIT_BITS)

    def digit(key: Any, number: Any) -> Expr:
        return tir.Cast("int64", upper(key, number) & const(digits - 1, unsigned))

    @T.prim_func(private=True)
    def select(x: T.handle, result: T.handle):
        m = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (m, n), element)  # noqa: N806
        R = T.match_buffer(result, (m, 1), "int64")  # noqa: N806
        for i in range(m):
            with T.block("row"):
                row = T.axis.spatial(m, i)
                T.reads(X[row, 0:n])
                T.writes(R[row, 0])
                keys = T.alloc_buffer((n,), unsigned, scope="local")
                places = T.alloc_buffer((n,), "int64", scope="local")
                counts = T.alloc_buffer((digits,), "int64", scope="local")
                low = T.alloc_buffer((1,), unsigned, scope="local")
                high = T.alloc_buffer((1,), unsigned, scope="local")
                rank = T.alloc_buffer((1,), "int64", scope="local")
                number = T.alloc_buffer((1,), "int64", scope="local")
                wanted = T.alloc_buffer((1,), "int64", scope="local")
                for j in range(n):
                    keys[j] = sort_key(X[row, j], True)
                low[0] = const(DType(unsigned).max_int, unsigned)
                high[0] = const(0, unsigned)
                for j in range(n):
                    low[0] = T.min(low[0], keys[j])
                for j in range(n):
                    high[0] = T.max(high[0], keys[j])
                for j in range(n):
                    places[j] = j
                rank[0] = rank_of(n)
                number[0] = n
                for p in range(passes):
                    left = number[0]
                    if left > 1 and upper(low[0], p) != upper(high[0], p):
                        for d in range(digits):
                            counts[d] = T.int64(0)
                        for j in range(left):
                            counts[digit(keys[j], p)] = counts[digit(keys[j], p)] + 1
                        wanted[0] = T.int64(0)
                        while rank[0] >= counts[wanted[0]]:
                            rank[0] = rank[0] - counts[wanted[0]]
                            wanted[0] = wanted[0] + 1
                        number[0] = T.int64(0)
                        for j in range(left):
                            key = keys[j]
                            place = places[j]
                            keys[number[0]] = key
                            places[number[0]] = place
                            stays = digit(key, p) == wanted[0]
                            number[0] = number[0] + T.Cast("int64", stays)
                R[row, 0] = places[rank[0]]

    return select
