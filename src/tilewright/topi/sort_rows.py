"""Programs that find the places of the elements of rows in order.

An element is ordered by its key, an unsigned integer. Equal elements have equal keys and stay in
their order. A NaN counts as larger than all numbers.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from typing import Any, Final

from tilewright import te, tir
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.script import tir as T  # noqa: N812
from tilewright.tir.function import PrimFunc
from tilewright.tir.op import reinterpret

DIGIT_BITS: Final = 8
"""The bits of a key by which elements are sorted at a time."""

SHORT: Final = 128
"""Maximum length of rows that are sorted by counting the smaller elements of each: these are so
many steps as pairs of elements, but steps of vectors."""


def argsort_rows(dtype: DType, ascending: bool) -> PrimFunc:
    """The program that sorts the places of the elements of each row, ``(m, n)``.

    Long rows are sorted by one digit of the keys after the other, from the lowest on: how often
    each digit occurs says where elements with it begin. A digit that all keys share is skipped.
    """
    element, unsigned = str(dtype), str(_unsigned(dtype))
    digits = 1 << DIGIT_BITS
    passes = dtype.bits // DIGIT_BITS

    def digit(key: Any, number: Any) -> Expr:
        shift = tir.Cast(unsigned, number * DIGIT_BITS)
        return tir.Cast("int64", (key >> shift) & const(digits - 1, unsigned))

    @T.prim_func(private=True)
    def argsort(x: T.handle, result: T.handle):
        m = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (m, n), element)  # noqa: N806
        R = T.match_buffer(result, (m, n), "int64")  # noqa: N806
        for i in range(m):
            with T.block("row"):
                row = T.axis.spatial(m, i)
                T.reads(X[row, 0:n])
                T.writes(R[row, 0:n])
                keys = T.alloc_buffer((2, n), unsigned, scope="local")
                places = T.alloc_buffer((2, n), "int64", scope="local")
                counts = T.alloc_buffer((passes, digits), "int64", scope="local")
                ranks = T.alloc_buffer((n,), "int32", scope="local")
                before = T.alloc_buffer((1,), "int64", scope="local")
                half = T.alloc_buffer((1,), "int64", scope="local")
                for j in range(n):
                    keys[0, j] = sort_key(X[row, j], ascending)
                if n <= SHORT:
                    for j in range(n):
                        ranks[j] = 0
                    for k in range(n):
                        key = keys[0, k]
                        for j in range(n):
                            comes_before = T.Select(k < j, key <= keys[0, j], key < keys[0, j])
                            ranks[j] = ranks[j] + T.Cast("int32", comes_before)
                    for j in range(n):
                        R[row, ranks[j]] = j
                else:
                    for p, d in T.grid(passes, digits):
                        counts[p, d] = T.int64(0)
                    for j in range(n):
                        places[0, j] = j
                        for p in T.unroll(passes):
                            counts[p, digit(keys[0, j], p)] = counts[p, digit(keys[0, j], p)] + 1
                    half[0] = T.int64(0)
                    for p in range(passes):
                        source = half[0]
                        if counts[p, digit(keys[source, 0], p)] < n:
                            before[0] = T.int64(0)
                            for d in range(digits):
                                count = counts[p, d]
                                counts[p, d] = before[0]
                                before[0] = before[0] + count
                            for j in range(n):
                                key = keys[source, j]
                                column = digit(key, p)
                                target = counts[p, column]
                                counts[p, column] = target + 1
                                keys[1 - source, target] = key
                                places[1 - source, target] = places[source, j]
                            half[0] = 1 - source
                    for j in range(n):
                        R[row, j] = places[half[0], j]

    return argsort


def top_rows(dtype: DType, k: int, ascending: bool) -> PrimFunc:
    """The program that finds the places of the first `k` elements in order of each row, ``(m, n)``.

    The best ones so far are kept in order. Most elements are worse than all of them.
    """
    element, unsigned = str(dtype), str(_unsigned(dtype))

    @T.prim_func(private=True)
    def topk(x: T.handle, result: T.handle):
        m = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (m, n), element)  # noqa: N806
        R = T.match_buffer(result, (m, k), "int64")  # noqa: N806
        for i in range(m):
            with T.block("row"):
                row = T.axis.spatial(m, i)
                T.reads(X[row, 0:n])
                T.writes(R[row, 0:k])
                best = T.alloc_buffer((k + 1,), unsigned, scope="local")
                places = T.alloc_buffer((k + 1,), "int64", scope="local")
                position = T.alloc_buffer((1,), "int64", scope="local")
                for j in range(n):
                    key = sort_key(X[row, j], ascending)
                    if j < k or key < best[k - 1]:
                        # Those that are worse move by one place; the last one falls behind the end.
                        position[0] = T.min(j, T.int64(k - 1))
                        while T.if_then_else(
                            position[0] > 0, key < best[T.max(position[0] - 1, 0)], T.bool(False)
                        ):
                            best[position[0]] = best[position[0] - 1]
                            places[position[0]] = places[position[0] - 1]
                            position[0] = position[0] - 1
                        best[position[0]] = key
                        places[position[0]] = j
                for j in range(k):
                    R[row, j] = places[j]

    return topk


def sort_key(value: Expr, ascending: bool) -> Expr:
    """An unsigned integer, which is less for a value that comes before another one."""
    key = _ascending_key(value)
    return key if ascending else ~key


def _unsigned(dtype: DType) -> DType:
    return DType(f"uint{dtype.bits}")


def _ascending_key(value: Expr) -> Expr:
    dtype, unsigned = value.dtype, _unsigned(value.dtype)
    if dtype.is_uint:
        return value
    sign = const(1 << (dtype.bits - 1), unsigned)
    if dtype.is_int:
        return reinterpret(unsigned, value) ^ sign
    zero = const(0.0, dtype)
    bits = reinterpret(unsigned, tir.Select(value == zero, zero, value))  # -0 equals 0
    ordered = tir.Select(bits >= sign, ~bits, bits | sign)
    return tir.Select(te.isnan(value), const(unsigned.max_int, unsigned), ordered)
