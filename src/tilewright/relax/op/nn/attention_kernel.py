"""Attention as a tensor program."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tilewright import te, tir
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, FloatImm, is_const_int
from tilewright.te import Tensor
from tilewright.topi.nn.activation import softmax_parts
from tilewright.topi.nn.window import simplified
from tilewright.topi.operands import accumulator, or_neutral

MOST_ROWS: Final = 64
"""So many queries of a head are taken at a time, so that their products with all keys are in a
cache until they are used."""

Range = Callable[[Any], tuple[Any, Any]]
"""From a query to the first key that it may attend to, and to where they end; None if all may."""


@dataclass(frozen=True)
class Operand:
    """Queries, keys or values.

    Attributes:
        tensor: ``(batch, sequence, heads, size)``.
        heads_first: whether the heads are before the sequence in `tensor`.
    """

    tensor: Tensor
    heads_first: bool = False

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The extents, the heads after the sequence."""
        return self._swapped(*self.tensor.shape)

    def __call__(self, *indices: Any) -> Any:
        """An element, the head given after its place in the sequence."""
        return self.tensor(*self._swapped(*indices))

    def _swapped(self, batch: Any, first: Any, second: Any, last: Any) -> tuple[Any, ...]:
        middle = (second, first) if self.heads_first else (first, second)
        return (batch, *middle, last)


class Multiples(NamedTuple):
    """What numbers are filled up to multiples of, to be multiplied by instructions for that.

    Attributes:
        rows: of rows of a block.
        keys: of keys.
    """

    rows: int
    keys: int


@dataclass(frozen=True)
class _Blocks:
    """How the queries are divided.

    Attributes:
        queries: how many there are.
        count: number of blocks.
        rows: number of rows of a block.
        step: number of queries from the first one of a block to that of the next.
        is_cut: whether there may be rows beyond the last query, which are 0.
    """

    queries: Expr
    count: Expr
    rows: Expr
    step: Expr
    is_cut: bool

    @property
    def are_several(self) -> bool:
        """Whether there may be more than one."""
        return not is_const_int(self.count, 1)

    def query(self, block: Any, row: Any) -> Any:
        """The number of a query."""
        return block * self.step + row if self.are_several else row

    def known_query(self, block: Any, row: Any) -> Any:
        """The number of a query that there is: the last one in place of those beyond it."""
        at = self.query(block, row)
        return tir.min(at, self.queries - 1) if self.is_cut else at

    def place(self, query: Any) -> tuple[Any, Any]:
        """The block of a query, and its row there."""
        if not self.are_several:
            return 0, query
        return te.floordiv(query, self.step), te.floormod(query, self.step)

    def or_nothing(self, query: Any, element: Any) -> Any:
        """An element of a query; 0 if there is no such query."""
        if not self.is_cut:
            return element
        return te.if_then_else(query < self.queries, element, as_expr(0, element.dtype))


def attention_kernel(
    query: Operand,
    key: Operand,
    value: Operand,
    bias: Tensor | None,
    scale: float | None,
    keys_of: Range | None,
    multiples: Multiples | None = None,
) -> Tensor:
    """``softmax(query @ key.T * scale + bias) @ value`` for each head of each batch.

    Sums of products are divided by the sums of the powers, as in FlashAttention (Dao et al., 2022).

    Args:
        query: ``(batch, queries, heads, size)``.
        key: ``(batch, keys, heads, size)``.
        value: ``(batch, keys, heads, result size)``.
        bias: what is added to the products, ``(batch, heads, queries, keys)``, or nothing;
            dimensions of extent 1 repeat.
        scale: the factor of the products, by default one by the square root of the size.
        keys_of: which keys a query may attend to; None for all.
        multiples: for elements that are multiplied as they are: powers are rounded to their dtype,
            and sums are wider. Others are converted first.
    """
    wide = accumulator(query.dtype)
    batch, queries, heads, size = query.shape
    keys = key.shape[1]
    blocks = _blocks(queries, 1 if multiples is None else multiples.rows)
    factor = _factor(scale, size, wide)
    if multiples is not None:
        left, right = _queries(query, blocks, None), _filled(key, multiples.keys, repeats=True)
        scores, later = _scores(left, right), factor
        value = _filled(value, multiples.keys, repeats=False)
    else:
        scores, later = _scores(_queries(query, blocks, factor), key), None
    scores = or_neutral(scores, [size])
    count = None if value.shape[1] is keys else keys
    is_masked = bias is not None or keys_of is not None
    if is_masked or (later is not None and not _is_positive(later)):
        scores, later = _masked(scores, blocks, count, later, bias, keys_of), None
    narrow = wide if multiples is None else query.dtype
    powers, inverse = softmax_parts(
        scores, -1, factor=later, masked=is_masked, dtype=narrow, count=count
    )
    j = te.reduce_axis((0, value.shape[1]), "j")

    def mixed(b: Any, n: Any, o: Any, i: Any, x: Any) -> Any:
        weight, element = powers(b, n, o, i, j), value(b, j, n, x)
        return te.sum(cast(wide, weight) * cast(wide, element), axis=j)

    grid = (batch, heads, blocks.count, blocks.rows, value.shape[3])
    sums = te.compute(grid, mixed, "T_mixed", "batch_matmul")
    result = te.compute(grid, lambda *i: inverse(*i[:-1]) * sums(*i), "T_normalized", "elemwise")
    result = or_neutral(result, [keys])

    def element(b: Any, i: Any, n: Any, x: Any) -> Any:
        return cast(query.dtype, result(b, n, *blocks.place(i), x))

    return te.compute((batch, queries, heads, value.shape[3]), element, "T_attention", "injective")


def _blocks(queries: Expr, step: int) -> _Blocks:
    """Blocks of up to `MOST_ROWS` rows, about as large as each other where their number is known.

    Args:
        step: what the number of rows of a block is a multiple of, unless they are fewer.
    """
    dtype = queries.dtype
    count = _tiles(queries, MOST_ROWS)
    if not is_const_int(queries):
        rows = tir.min(_tiles(queries, step), as_expr(MOST_ROWS // step, dtype)) * step
        return _Blocks(queries, count, rows, as_expr(MOST_ROWS, dtype), is_cut=True)
    count = as_expr(max(_known(count), 1), dtype)
    rows = simplified(te.floordiv(queries + (count - 1), count))
    if _known(rows) >= step:
        rows = _tiles(rows, step) * step
    is_cut = _known(count) * _known(rows) != _known(queries)
    return _Blocks(queries, count, rows, rows, is_cut)


def _tiles(extent: Expr, size: int) -> Expr:
    """Number of tiles of a size that an extent takes."""
    return simplified(te.floordiv(extent + (size - 1), size))


def _queries(query: Operand, blocks: _Blocks, factor: Expr | None) -> Tensor:
    """The queries in blocks, ``(batch, heads, blocks, rows, size)``.

    Args:
        factor: what they are multiplied by, in its dtype; None to leave them as they are.
    """
    batch, _, heads, size = query.shape

    def element(b: Any, n: Any, o: Any, i: Any, h: Any) -> Any:
        at = blocks.query(o, i)
        found = query(b, at, n, h)
        if factor is not None:
            found = cast(factor.dtype, found) * factor
        return blocks.or_nothing(at, found)

    return te.compute((batch, heads, blocks.count, blocks.rows, size), element, "T_query")


def _filled(operand: Operand, multiple: int, *, repeats: bool) -> Operand:
    """Keys, or their values, filled up to a multiple of a number.

    Args:
        repeats: whether the last key is repeated, so that it is still one of the largest products
            where it was one; values of 0 follow otherwise.
    """
    batch, keys, heads, size = operand.shape
    count = _tiles(keys, multiple) * multiple
    if is_const_int(keys) and _known(count) == _known(keys):
        return operand

    def element(b: Any, n: Any, k: Any, h: Any) -> Any:
        if repeats:
            return operand(b, tir.min(k, keys - 1), n, h)
        return te.if_then_else(k < keys, operand(b, k, n, h), as_expr(0, operand.dtype))

    name = "T_key" if repeats else "T_value"
    return Operand(te.compute((batch, heads, count, size), element, name), heads_first=True)


def _scores(query: Tensor, key: Operand) -> Tensor:
    """The products of queries in blocks and of keys."""
    *grid, size = query.shape
    wide = accumulator(query.dtype)
    h = te.reduce_axis((0, size), "h")

    def product(b: Any, n: Any, o: Any, i: Any, k: Any) -> Any:
        return te.sum(cast(wide, query(b, n, o, i, h)) * cast(wide, key(b, k, n, h)), axis=h)

    return te.compute((*grid, key.shape[1]), product, "T_scores", "batch_matmul")


def _masked(
    scores: Tensor,
    blocks: _Blocks,
    count: Expr | None,
    factor: Expr | None,
    bias: Tensor | None,
    keys_of: Range | None,
) -> Tensor:
    """Products with their factor and bias; minus infinity where a query may not attend to a key.

    Args:
        count: number of keys, if products of others follow, which are as that of the last one.
    """

    def element(b: Any, n: Any, o: Any, i: Any, k: Any) -> Any:
        at, result = blocks.query(o, i), scores(b, n, o, i, k)
        known = k if count is None else tir.min(k, count - 1)
        if factor is not None:
            result = result * factor
        if bias is not None:
            where = zip(bias.shape, (b, n, at, known), strict=True)
            added = bias(*(0 if is_const_int(e, 1) else p for e, p in where))
            result = result + blocks.or_nothing(at, cast(scores.dtype, added))
        if keys_of is None:
            return result
        first, end = keys_of(blocks.known_query(o, i))
        conditions = [known < end] if first is None else [known >= first, known < end]
        return tir.Select(te.all(*conditions), result, -te.infinity(scores.dtype))

    return te.compute(scores.shape, element, "T_masked")


def _factor(scale: float | None, size: Expr, dtype: DType) -> Expr:
    if scale is not None:
        return as_expr(scale, dtype)
    known = _known(size)
    return as_expr(1 / math.sqrt(known), dtype) if known else te.rsqrt(cast(dtype, size))


def _is_positive(factor: Expr) -> bool:
    """Whether a factor is known to be positive."""
    return isinstance(factor, FloatImm) and factor.value > 0


def _known(extent: Expr) -> int:
    return int(extent.value) if is_const_int(extent) else 0  # type: ignore[attr-defined]


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
