"""Sorting: the places of elements in order, and what follows from them.

A row is sorted by merging: runs of 1, 2, 4, ... elements that are in order become runs of twice the
length, from one half of the work space into the other. Equal elements stay in their order. A NaN
counts as larger than all numbers.
"""

# pyright: reportArgumentType=false, reportIndexIssue=false
# The bodies of scripts are programs, not Python.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentError, ArgumentValueError, ShapeError
from tilewright.ir.arithmetic import logical_and, logical_not, logical_or
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr
from tilewright.script import tir as T  # noqa: N812
from tilewright.te import Tensor
from tilewright.tir.function import PrimFunc
from tilewright.topi import tag
from tilewright.topi.axes import normalized_axis
from tilewright.topi.nn.window import constant, simplified


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
    if ret_type not in ("both", "values", "indices"):
        raise ArgumentValueError(
            f'topi.topk: `ret_type` is "both", "values" or "indices", got {ret_type!r}'
        )
    along = normalized_axis("topi.topk", axis, data.ndim)
    extent = data.shape[along]
    known = constant(k)
    count = extent if known is not None and known < 1 else as_expr(k, extent.dtype)
    if (constant(simplified(extent - count)) or 0) < 0:
        raise ShapeError(f"topi.topk: {k} elements are wanted of {extent!r}")
    order = _order(data, along, bool(is_ascend))
    values = _taken(data, order, along, count)
    if ret_type == "values":
        return values
    places = _places(data, order, along, count, dtype)
    return places if ret_type == "indices" else [values, places]


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, out_dtype: str = "int64"
) -> Tensor:
    """Where `values` belong in sequences that are in order, so that they stay in order.

    Args:
        sorted_sequence: one sequence for all values, or one for each of the leading places.
        values: what is searched.
        right: whether a value comes behind the elements that equal it.
        out_dtype: of the places.
    """
    if sorted_sequence.ndim not in (1, values.ndim):
        raise ShapeError(
            f"topi.searchsorted: a sequence, or sequences in {values.ndim} dimensions as the "
            f"values, not in {sorted_sequence.ndim}"
        )
    length = sorted_sequence.shape[-1]
    step = te.reduce_axis((0, length), "k")

    def count(*place: Any) -> Any:
        before = place[:-1] if sorted_sequence.ndim > 1 else ()
        element, value = sorted_sequence(*before, step.var), values(*place)
        smaller = logical_not(_less(value, element)) if right else _less(element, value)
        return te.sum(cast(out_dtype, smaller), axis=step)

    return te.compute(values.shape, count, "T_searchsorted", tag.COMM_REDUCE)


def _less(a: Any, b: Any) -> Expr:
    """Whether `a` comes before `b`."""
    if not a.dtype.is_float:
        return a < b
    return logical_or(a < b, logical_and(logical_not(te.isnan(a)), te.isnan(b)))


def _order(data: Tensor, along: int, ascending: bool) -> Tensor:
    """The places of the elements of each row along a dimension, in order, as rows."""
    outer = [extent for n, extent in enumerate(data.shape) if n != along]
    count: Any = const(1, INT64)
    for extent in outer:
        count = count * extent
    length = cast(INT64, data.shape[along])

    def element(row: Any, j: Any) -> Any:
        index = _unravelled(row, outer)
        return data(*index[:along], j, *index[along:])

    rows = te.compute((simplified(count), length), element, "T_rows", tag.INJECTIVE)
    return te.extern_primfunc([rows], _merge_sort(rows.dtype, ascending), "argsort")


def _merge_sort(dtype: DType, ascending: bool) -> PrimFunc:
    """The program that sorts the places of the elements of each row."""

    def is_before(a: Any, b: Any) -> Expr:
        return _less(a, b) if ascending else _less(b, a)

    element = str(dtype)

    @T.prim_func(private=True)
    def argsort(x: T.handle, result: T.handle):
        m = T.int64()
        n = T.int64()
        X = T.match_buffer(x, (m, n), element)  # noqa: N806
        R = T.match_buffer(result, (m, n), "int64")  # noqa: N806
        work = T.alloc_buffer((2, n), "int64")
        place = T.alloc_buffer((2,), "int64")
        half = T.alloc_buffer((1,), "int64")
        for i in range(m):
            half[0] = T.int64(0)
            for j in range(n):
                work[0, j] = j
            for level in range(T.int64(62)):
                if T.shift_left(T.int64(1), level) < n:
                    for run in range(T.ceildiv(n, T.shift_left(T.int64(2), level))):
                        low = run * T.shift_left(T.int64(2), level)
                        middle = T.min(low + T.shift_left(T.int64(1), level), n)
                        high = T.min(low + T.shift_left(T.int64(2), level), n)
                        place[0] = low
                        place[1] = middle
                        for k in range(high - low):
                            if place[0] < middle and (
                                place[1] >= high
                                or not is_before(
                                    X[i, work[level % 2, place[1]]],
                                    X[i, work[level % 2, place[0]]],
                                )
                            ):
                                work[1 - level % 2, low + k] = work[level % 2, place[0]]
                                place[0] = place[0] + 1
                            else:
                                work[1 - level % 2, low + k] = work[level % 2, place[1]]
                                place[1] = place[1] + 1
                    half[0] = 1 - level % 2
            for j in range(n):
                R[i, j] = work[half[0], j]

    return argsort


def _unravelled(row: Any, extents: Sequence[Expr]) -> list[Any]:
    """The indices of a row, counted over all dimensions `extents`."""
    index: list[Any] = []
    for position, extent in reversed(list(enumerate(extents))):
        index.append(row if position == 0 else row % extent)
        row = row // extent
    return index[::-1]


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
