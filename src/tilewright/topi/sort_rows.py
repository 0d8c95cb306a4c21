"""Programs that find the places of the elements of rows in order.

An element is ordered by its key, an unsigned integer. Equal elements have equal keys and stay in
their order. A NaN counts as larger than all numbers.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportMissingParameterType=false
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


STRIP: Final = 32
"""So many elements of a row are compared at a time with the best ones that have been found."""

GROUP: Final = 16
"""So many of the best elements move at a time."""


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

    The best ones so far are kept in order. Most elements are worse than all of them: the best one
    of a strip, which vectors find, says whether it has one that is not. Vectors put that in its
    place, too, so that branches depend on little that cannot be predicted.
    """
    element, unsigned = str(dtype), str(_unsigned(dtype))
    worst = const(_unsigned(dtype).max_int, unsigned)
    kept = -(-k // GROUP) * GROUP

    @T.macro
    def insert(best, places, moved, moved_places, key, j):
        """Those that are worse than `key`, or none yet, move by one place; 0 stands before all."""
        new = key
        place = j
        for group in range(kept // GROUP):
            for u in T.vectorized(GROUP):
                before = best[group * GROUP + u]
                kept_one = best[group * GROUP + u + 1]
                stays = T.bitwise_and(group * GROUP + u < place, kept_one <= new)
                follows = T.bitwise_and(group * GROUP + u <= place, before <= new)
                moved[group * GROUP + u] = T.Select(stays, kept_one, T.Select(follows, new, before))
                moved_places[group * GROUP + u] = T.Select(
                    stays,
                    places[group * GROUP + u + 1],
                    T.Select(follows, place, places[group * GROUP + u]),
                )
        for group in range(kept // GROUP):
            for u in T.vectorized(GROUP):
                best[group * GROUP + u + 1] = moved[group * GROUP + u]
                places[group * GROUP + u + 1] = moved_places[group * GROUP + u]

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
                best = T.alloc_buffer((kept + 1,), unsigned, scope="local")
                places = T.alloc_buffer((kept + 1,), "int64", scope="local")
                moved = T.alloc_buffer((kept,), unsigned, scope="local")
                moved_places = T.alloc_buffer((kept,), "int64", scope="local")
                keys = T.alloc_buffer((STRIP,), unsigned, scope="local")
                first = T.alloc_buffer((1,), unsigned, scope="local")
                found = T.alloc_buffer((1,), "int32", scope="local")
                for slot in range(kept + 1):
                    best[slot] = const(0, unsigned)
                    places[slot] = T.int64(0)
                for j in range(k):
                    insert(best, places, moved, moved_places, sort_key(X[row, j], ascending), j)
                for strip in range((n - k + STRIP - 1) // STRIP):
                    first[0] = worst
                    for u in T.vectorized(STRIP):
                        j = k + strip * STRIP + u
                        keys[u] = T.if_then_else(j < n, sort_key(X[row, j], ascending), worst)
                    for u in T.vectorized(STRIP):
                        first[0] = T.min(first[0], keys[u])
                    while first[0] < best[k]:
                        found[0] = T.int32(STRIP)
                        for u in T.vectorized(STRIP):
                            is_first = keys[u] == first[0]
                            found[0] = T.min(found[0], T.Select(is_first, u, STRIP))
                        j = k + strip * STRIP + found[0]
                        insert(best, places, moved, moved_places, first[0], j)
                        first[0] = worst
                        for u in T.vectorized(STRIP):
                            keys[u] = T.Select(u == found[0], worst, keys[u])
                        for u in T.vectorized(STRIP):
                            first[0] = T.min(first[0], keys[u])
                for j in range(k):
                    R[row, j] = places[j + 1]

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
