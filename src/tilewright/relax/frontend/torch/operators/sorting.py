"""Sorting and searching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright import topi
from tilewright.ir.convert import const
from tilewright.relax import op
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts
from tilewright.topi.sort import element_of_rank


def _place(function: Any) -> Any:
    """The conversion of ``argmax`` or ``argmin``."""

    def convert(graph: Graph, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        if dim is None:
            return graph.reshape(graph.emit(function(op.reshape(x, [-1]), 0)), graph.shape)
        return graph.cast(graph.emit(function(x, dim, keepdim)), "int64")

    return convert


def _with_place(function: Any, place: Any) -> Any:
    """The conversion to the largest or smallest elements along a dimension, and their places."""

    def convert(graph: Graph, x: Any, dim: int, keepdim: bool = False) -> list[Any]:
        return [graph.emit(function(x, dim, keepdim)), place(graph, x, dim, keepdim)]

    return convert


convert_by({
    "aten.argmax": _place(op.argmax),
    "aten.argmin": _place(op.argmin),
    "aten.max.dim": _with_place(op.max, _place(op.argmax)),
    "aten.min.dim": _with_place(op.min, _place(op.argmin)),
})  # fmt: skip


@converts("aten.topk")
def topk(
    graph: Graph, x: Any, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True
) -> list[Any]:
    """The `k` largest or smallest elements, or all for 0, and where they are."""
    pair = graph.emit(op.topk(x, k, dim, "both", largest, "int64"))
    return [graph.emit(pair[0]), graph.emit(pair[1])]


@converts("aten.sort.default")
def sort(graph: Graph, x: Any, dim: int = -1, descending: bool = False) -> list[Any]:
    """The elements in order along `dim`, and where they were."""
    if graph.uses_result(0) and graph.uses_result(1):  # one sorting gives both
        return topk(graph, x, 0, dim, descending)
    order = argsort(graph, x, dim, descending)
    return [graph.emit(op.sort(x, dim, descending)), order]


@converts("aten.kthvalue")
def kthvalue(graph: Graph, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> list[Any]:
    """The element that `k` minus one others come before, and where it is."""
    shape = graph.sizes.shape(graph.result[0].shape)
    found = _of_rank(graph, x, dim, lambda extent: const(k - 1, extent.dtype))
    return [graph.reshape(value, shape) for value in found]


def _of_rank(graph: Graph, x: Any, dim: int, rank_of: Callable[[Any], Any]) -> list[Any]:
    """The element along `dim` that a number of others come before, and where it is."""
    found = graph.emit_te(
        lambda data: element_of_rank(data, rank_of, dim), x, primfunc_name_hint="element_of_rank"
    )
    return [graph.emit(found[n]) for n in range(2)]


@converts("aten.median.dim")
def median_along(graph: Graph, x: Any, dim: int, keepdim: bool = False) -> list[Any]:
    """The element in the middle, the smaller one of two, and where it is; NaN if there is one."""
    shape = graph.sizes.shape(graph.result[0].shape)
    middle = _of_rank(graph, x, dim, _middle)
    if not graph.dtype_of(x).startswith(("float", "bfloat")):
        return [graph.reshape(value, shape) for value in middle]
    place = graph.emit(op.argmax(op.astype(op.isnan(x), "int8"), dim, keepdims=True))
    first = graph.emit(op.gather_elements(x, place, dim))
    missing = graph.emit(op.isnan(first))
    pairs = zip((first, place), middle, strict=True)
    return [graph.reshape(graph.emit(op.where(missing, *pair)), shape) for pair in pairs]


def _middle(extent: Any) -> Any:
    return (extent - 1) // 2


@converts("aten.median.default")
def median(graph: Graph, x: Any) -> Any:
    """The element in the middle of all, the smaller one of two."""
    flat = graph.reshape(x, [-1])
    middle, _ = _of_rank(graph, flat, 0, _middle)
    if graph.dtype_of(x).startswith(("float", "bfloat")):
        missing = graph.emit(op.max(op.astype(op.isnan(flat), "int8"), [0], keepdims=True))
        nan = graph.operand(float("nan"), graph.dtype_of(x))
        middle = graph.emit(op.where(op.astype(missing, "bool"), nan, middle))
    return graph.reshape(middle, [])


@converts("aten.bucketize.Tensor")
def bucketize(
    graph: Graph, x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    """Number of boundaries before each element; with `right`, also those equal to it."""
    return _count_before(graph, boundaries, x, right)


@converts("aten.searchsorted.Tensor")
def searchsorted(
    graph: Graph, boundaries: Any, x: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """The same; each row may have boundaries of its own."""
    if sorter is not None:
        raise UnsupportedError("a sorter is not supported")
    return _count_before(graph, boundaries, x, right or side == "right")


def _count_before(graph: Graph, boundaries: Any, x: Any, right: bool) -> Any:
    return graph.emit_te(topi.searchsorted, boundaries, x, right, graph.dtype)


@converts("aten.argsort.default")
def argsort(graph: Graph, x: Any, dim: int = -1, descending: bool = False) -> Any:
    """Where the elements are in order."""
    return graph.emit(op.argsort(x, dim, descending, "int64"))


convert_by({
    "aten.sort.stable":
        lambda graph, x, *, stable=None, dim=-1, descending=False: sort(graph, x, dim, descending),
})  # fmt: skip
