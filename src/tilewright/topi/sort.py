"""Sorting: the places of elements in order, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright import te, tir
from tilewright.error import ArgumentError, ShapeError, require_one_of
from tilewright.ir.arithmetic import logical_not
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.te.tensor import extent_text
from tilewright.topi import tag
from tilewright.topi.nn.window import constant, simplified
from tilewright.topi.operands import normalized_axis
from tilewright.topi.search_rows import search_rows
from tilewright.topi.select_rows import select_rows
from tilewright.topi.sort_rows import argsort_rows, top_rows
from tilewright.topi.utils import unravel_index

MOST_KEPT: Final = 64
"""So many elements are found by keeping the best ones; for more, all are sorted."""

SHORT_SEQUENCE: Final = 64
"""Maximum length of sequences all elements of which are compared with each value, in vectors."""


def sort(data: Tensor, axis: int = -1, is_ascend: int = 1) -> Tensor:
    """The elements in order along `axis`, the smallest first if `is_ascend`."""
    along = normalized_axis("topi.sort", axis, data.ndim)
    order = _order(data, along, bool(is_ascend))
    return _taken(data, order, along, data.shape[along])


def argsort(
    data: Tensor,
    valid_count: Tensor | None = None,
    axis: int = -1,
    is_ascend: int = 1,
    dtype: str = "float32",
) -> Tensor:
    """Where the elements are, in the order of `sort`.

    Args:
        data: the tensor.
        valid_count: only None is supported.
        axis: the dimension.
        is_ascend: whether the smallest element comes first.
        dtype: of the result.
    """
    if valid_count is not None:
        raise ArgumentError("topi.argsort: `valid_count` is not supported; slice the tensor")
    along = normalized_axis("topi.argsort", axis, data.ndim)
    order = _order(data, along, bool(is_ascend))
    return _places(data, order, along, data.shape[along], dtype)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int64",
) -> Any:
    """The `k` largest elements along `axis`, and where they are.

    Args:
        data: the tensor.
        k: how many; less than 1 for all.
        axis: the dimension.
        ret_type: ``"both"`` for both, ``"values"`` or ``"indices"`` for one of them.
        is_ascend: whether the smallest ones are wanted instead.
        dtype: of the places.
    """
    require_one_of("topi.topk: `ret_type`", ret_type, ("both", "values", "indices"))
    along = normalized_axis("topi.topk", axis, data.ndim)
    extent = data.shape[along]
    known = constant(k)
    count = extent if known is not None and known < 1 else as_expr(k, extent.dtype)
    if (constant(simplified(extent - count)) or 0) < 0:
        raise ShapeError(f"topi.topk: {k} elements are wanted of {extent_text(extent)}")
    few = k if 1 <= k <= MOST_KEPT else None
    order = _order(data, along, bool(is_ascend), few)
    values = _taken(data, order, along, count)
    if ret_type == "values":
        return values
    places = _places(data, order, along, count, dtype)
    return places if ret_type == "indices" else [values, places]


def element_of_rank(
    data: Tensor, rank_of: Callable[[Any], Expr], axis: int = -1, dtype: str = "int64"
) -> list[Tensor]:
    """The element along `axis` that a number of others come before, and where it is.

    Args:
        data: the tensor.
        rank_of: from the extent of the dimension to that number, which is less.
        axis: the dimension, which has extent 1 in the results.
        dtype: of the place.
    """
    along = normalized_axis("topi.element_of_rank", axis, data.ndim)
    rows = _rows_along(data, along)
    place = te.extern_primfunc([rows], select_rows(rows.dtype, rank_of), "select")
    count = const(1, data.shape[along].dtype)
    return [_taken(data, place, along, count), _places(data, place, along, count, dtype)]


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64"
) -> Tensor:
    """Where `values` belong in sequences that are in order, so that they stay in order.

    Args:
        sorted_sequence: one sequence for all values, or one for each of the leading places.
        values: the values to search for.
        right: whether a value comes behind the elements that equal it.
        out_dtype: of the places.
    """
    if sorted_sequence.ndim not in (1, values.ndim):
        raise ShapeError(
            f"topi.searchsorted: a sequence, or sequences in {values.ndim} dimensions as the "
            f"values, not in {sorted_sequence.ndim}"
        )

    def comes_before(element: Any, value: Any) -> Expr:
        return logical_not(_less(value, element)) if right else _less(element, value)

    length = constant(sorted_sequence.shape[-1])
    if length is not None and length <= SHORT_SEQUENCE:
        return _counted_before(sorted_sequence, values, comes_before, out_dtype)
    leading = sorted_sequence.ndim - 1
    sequences, rows = _as_rows(sorted_sequence, leading), _as_rows(values, leading)
    search = search_rows(values.dtype, out_dtype, comes_before)
    places = te.extern_primfunc([sequences, rows], search, "searchsorted")
    outer, inner = values.shape[:leading], values.shape[leading:]
    return te.compute(
        values.shape,
        lambda *i: places(_row_of(i[:leading], outer), _row_of(i[leading:], inner)),
        "T_searchsorted",
        tag.INJECTIVE,
    )


def _counted_before(
    sequence: Tensor, values: Tensor, comes_before: Callable[[Any, Any], Expr], dtype: str
) -> Tensor:
    """How many elements come before each value, of sequences that are searched as a whole."""
    step = te.reduce_axis((0, sequence.shape[-1]), "k")

    def count(*place: Any) -> Any:
        before = place[:-1] if sequence.ndim > 1 else ()
        smaller = comes_before(sequence(*before, step.var), values(*place))
        return te.sum(cast(dtype, smaller), axis=step)

    return te.compute(values.shape, count, "T_searchsorted", tag.COMM_REDUCE)


def _as_rows(data: Tensor, leading: int) -> Tensor:
    """A matrix with a row for each place in the `leading` dimensions."""
    outer, inner = data.shape[:leading], data.shape[leading:]
    shape = [
        simplified(math.prod((cast(INT64, extent) for extent in extents), start=const(1, INT64)))
        for extents in (outer, inner)
    ]
    return te.compute(
        shape,
        lambda row, column: data(*unravel_index(row, outer), *unravel_index(column, inner)),
        "T_rows",
        tag.INJECTIVE,
    )


def _less(a: Any, b: Any) -> Expr:
    """Whether `a` comes before `b`."""
    if not a.dtype.is_float:
        return a < b
    return tir.Select(te.isnan(b), logical_not(te.isnan(a)), a < b)


def _order(data: Tensor, along: int, ascending: bool, count: int | None = None) -> Tensor:
    """The places of the elements of each row along a dimension, in order, as rows.

    Only the first `count`, if given.
    """
    rows = _rows_along(data, along)
    if count is None:
        return te.extern_primfunc([rows], argsort_rows(rows.dtype, ascending), "argsort")
    return te.extern_primfunc([rows], top_rows(rows.dtype, count, ascending), "topk")


def _rows_along(data: Tensor, along: int) -> Tensor:
    """A matrix whose rows are those along a dimension."""
    outer = [extent for n, extent in enumerate(data.shape) if n != along]
    number = math.prod(outer, start=const(1, INT64))
    length = cast(INT64, data.shape[along])

    def element(row: Any, j: Any) -> Any:
        index = unravel_index(row, outer)
        return data(*index[:along], j, *index[along:])

    rows = data
    if along != 1 or [extent.dtype for extent in data.shape] != [INT64, INT64]:
        rows = te.compute((simplified(number), length), element, "T_rows", tag.INJECTIVE)
    return rows


def _row_of(index: Sequence[Any], extents: Sequence[Expr]) -> Any:
    row: Any = const(0, INT64)
    for i, extent in zip(index, extents, strict=True):
        row = row * extent + i
    return row


def _taken(data: Tensor, order: Tensor, along: int, count: Expr) -> Tensor:
    """The first `count` elements in order."""

    def element(*i: Any) -> Any:
        return data(*i[:along], _place(data, order, along, i), *i[along + 1 :])

    return te.compute(_shape(data, along, count), element, "T_sorted", tag.INJECTIVE)


def _places(data: Tensor, order: Tensor, along: int, count: Expr, dtype: str) -> Tensor:
    """Where the first `count` elements in order are."""
    return te.compute(
        _shape(data, along, count),
        lambda *i: cast(DType(dtype), _place(data, order, along, i)),
        "T_places",
        tag.INJECTIVE,
    )


def _place(data: Tensor, order: Tensor, along: int, i: Sequence[Any]) -> Any:
    outer = [extent for n, extent in enumerate(data.shape) if n != along]
    return order(_row_of([*i[:along], *i[along + 1 :]], outer), i[along])


def _shape(data: Tensor, along: int, count: Expr) -> list[Expr]:
    return [*data.shape[:along], count, *data.shape[along + 1 :]]
