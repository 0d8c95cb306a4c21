"""Attention as a tensor program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tilewright import te, tir
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, is_const_int
from tilewright.te import Tensor
from tilewright.topi.nn import masked_softmax, softmax
from tilewright.topi.nn.window import simplified
from tilewright.topi.operands import accumulator, or_neutral

MOST_ROWS: Final = 64
"""So many queries of a head are taken at a time, so that their products with all keys are in a
cache until they are used."""


Range = Callable[[Any], tuple[Any, Any]]
"""From a query to the first key that it may attend to, and to where they end; None if all may."""


def attention_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    scale: float | None,
    keys_of: Range | None,
) -> Tensor:
    """``softmax(query @ key.T * scale + bias) @ value`` for each head of each batch.

    Args:
        query: ``(batch, queries, heads, size)``.
        key: ``(batch, keys, heads, size)``.
        value: ``(batch, keys, heads, result size)``.
        bias: what is added to the products, ``(batch, heads, queries, keys)``, or nothing;
            dimensions of extent 1 repeat.
        scale: the factor of the products, by default one by the square root of the size.
        keys_of: which keys a query may attend to; None for all.
    """
    wide = accumulator(query.dtype)
    batch, queries, heads, size = query.shape
    keys = key.shape[1]
    blocks, rows = _blocks(queries)
    is_cut = blocks > 1 and blocks * _known(rows) > _known(queries)
    factor = _factor(scale, size, wide)

    def place(block: Any, i: Any) -> Any:
        return i if blocks == 1 else block * rows + i

    def or_nothing(i: Any, item: Any) -> Any:
        """`item`, of a query that may be beyond the last one."""
        return te.if_then_else(i < queries, item, as_expr(0, wide)) if is_cut else item

    def scaled(b: Any, n: Any, o: Any, i: Any, h: Any) -> Any:
        at = place(o, i)
        return or_nothing(at, cast(wide, query(b, at, n, h)) * factor)

    grid = (batch, heads, as_expr(blocks, queries.dtype), rows)
    left = te.compute((*grid, size), scaled, "T_query")
    right = _transposed(key, wide) if blocks > 1 else None
    h = te.reduce_axis((0, size), "h")

    def product(b: Any, n: Any, o: Any, i: Any, k: Any) -> Any:
        other = cast(wide, key(b, k, n, h)) if right is None else right(b, n, h, k)
        return te.sum(left(b, n, o, i, h) * other, axis=h)

    products = te.compute((*grid, keys), product, "T_scores", "batch_matmul")
    scores = or_neutral(products, [size])

    def masked(b: Any, n: Any, o: Any, i: Any, k: Any) -> Any:
        at, result = place(o, i), scores(b, n, o, i, k)
        if bias is not None:
            where = zip(bias.shape, (b, n, at, k), strict=True)
            added = bias(*(0 if is_const_int(e, 1) else p for e, p in where))
            result = result + or_nothing(at, cast(wide, added))
        if keys_of is None:
            return result
        first, end = keys_of(tir.min(at, queries - 1) if is_cut else at)
        conditions = [k < end] if first is None else [k >= first, k < end]
        return tir.Select(te.all(*conditions), result, -te.infinity(wide))

    if bias is None and keys_of is None:
        weights = softmax(scores)
    else:
        weights = masked_softmax(te.compute((*grid, keys), masked, "T_masked"))
    j = te.reduce_axis((0, keys), "j")

    def mixed(b: Any, n: Any, o: Any, i: Any, x: Any) -> Any:
        return te.sum(weights(b, n, o, i, j) * cast(wide, value(b, j, n, x)), axis=j)

    result = te.compute((*grid, value.shape[3]), mixed, "T_mixed", "batch_matmul")
    result = or_neutral(result, [keys])

    def element(b: Any, i: Any, n: Any, x: Any) -> Any:
        o, inner = (0, i) if blocks == 1 else (te.floordiv(i, rows), te.floormod(i, rows))
        return cast(query.dtype, result(b, n, o, inner, x))

    return te.compute((batch, queries, heads, value.shape[3]), element, "T_attention", "injective")


def _blocks(queries: Expr) -> tuple[int, Expr]:
    """Into how many blocks the queries are divided, and how many each has.

    If their number is not known they are one block, since it may be small.
    """
    known = _known(queries)
    blocks = max(1, -(-known // MOST_ROWS))
    return blocks, simplified(te.floordiv(queries + (blocks - 1), blocks))


def _factor(scale: float | None, size: Expr, dtype: DType) -> Expr:
    if scale is not None:
        return as_expr(scale, dtype)
    known = _known(size)
    return as_expr(1 / math.sqrt(known), dtype) if known else te.rsqrt(cast(dtype, size))


def _known(extent: Expr) -> int:
    return int(extent.value) if is_const_int(extent) else 0  # type: ignore[attr-defined]


def _transposed(key: Tensor, dtype: DType) -> Tensor:
    """The keys of each head side by side, to be multiplied by many queries."""
    batch, keys, heads, size = key.shape
    return te.compute(
        (batch, heads, size, keys), lambda b, n, h, k: cast(dtype, key(b, k, n, h)), "T_key"
    )


def causal(queries: Expr, keys: Expr, mask: str, window: int | None) -> Range:
    """The keys that are not later than a query.

    Args:
        queries: how many queries there are.
        keys: how many keys.
        mask: ``"TopLeft"`` if query i may attend to keys up to i; ``"BottomRight"`` if the last
            query may attend to the last key, and each one before to one less.
        window: the maximum number of keys that a query attends to; None for no limit.
    """

    def keys_of(i: Any) -> tuple[Any, Any]:
        end = (i if mask == "TopLeft" else i + (keys - queries)) + 1
        return (None if window is None else end - window), end

    return keys_of


def of_sequences(
    queries: Expr, query_starts: Tensor, key_starts: Tensor, mask: str | None, window: int | None
) -> Range:
    """The keys of the sequence that a query belongs to, of several that follow each other.

    Args:
        queries: how many queries there are in all sequences together.
        query_starts: ``(sequences + 1,)``, where each one begins among the queries, and the end.
        key_starts: the same among the keys.
        mask: None, or one of `causal` for each sequence.
        window: likewise.
    """
    count = query_starts.shape[0] - 1
    step = te.reduce_axis((0, count), "s")
    number = te.compute(
        (queries,),
        lambda i: te.sum(cast(INT64, cast(INT64, query_starts(step.var + 1)) <= i), axis=step),
        "T_sequence",
    )
    number = or_neutral(number, [count])

    def bounds(i: Any) -> tuple[Any, Any]:
        s = tir.max(tir.min(number(i), count - 1), 0)
        first, end, start, stop = (
            cast(INT64, starts(place))
            for starts in (key_starts, query_starts)
            for place in (s, s + 1)
        )
        if mask is not None:
            inner, last = causal(stop - start, end - first, mask, window)(i - start)
            end = tir.min(end, first + last)
            first = first if inner is None else tir.max(first, first + inner)
        return first, tir.Select(number(i) < count, end, as_expr(0, INT64))

    firsts, ends = (
        te.compute((queries,), lambda i, side=side: bounds(i)[side], f"T_{name}")
        for side, name in ((0, "first"), (1, "end"))
    )
    return lambda i: (firsts(i), ends(i))
