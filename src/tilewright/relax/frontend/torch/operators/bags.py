"""Bags: rows of a table that are combined by groups, and numbers that are counted by groups."""

from __future__ import annotations

from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import converts

_SUM, _MEAN, _MAX = range(3)
_REDUCTIONS: Final = {_SUM: "add", _MEAN: "add", _MAX: "max"}


@converts("aten._embedding_bag", "aten._embedding_bag_forward_only")
def embedding_bag(
    graph: Graph, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False,
    mode: int = _SUM, sparse: bool = False, per_sample_weights: Any = None,
    include_last_offset: bool = False, padding_index: int = -1,
) -> list[Any]:  # fmt: skip
    """The sum, mean or maximum of the rows of each bag; those of the padding do not count.

    Bag ``b`` has the rows at ``indices[offsets[b]]`` up to the offset of the next bag. What torch
    gives beside it is for gradients only.
    """
    shape = graph.sizes.shape(graph.result[0].shape)
    bags, dtype = shape[0], graph.dtype_of(weight)
    owner = _bag_of(graph, graph.shape_of(indices)[0], offsets, bags)
    rows = op.take(weight, indices, 0)
    if per_sample_weights is not None:
        rows = op.multiply(rows, op.expand_dims(per_sample_weights, 1))
    if padding_index >= 0:
        is_counted = graph.emit(op.not_equal(indices, graph.operand(padding_index, "int64")))
        # Rows of the padding go to a bag behind the others.
        owner = op.where(is_counted, owner, graph.operand(bags, "int64"))
    owner = graph.emit(owner)
    start = graph.operand(float("-inf") if mode == _MAX else 0.0, dtype)
    total = op.full([bags + 1, shape[1]], start, dtype)
    places = graph.emit(op.expand_dims(owner, 1))
    total = op.scatter_nd(total, places, graph.emit(rows), _REDUCTIONS[mode])
    total = _first(graph, total, bags)
    if mode == _SUM:
        return [total, None, None, None]
    sizes = op.expand_dims(counts(graph, owner, None, bags, dtype), 1)
    if mode == _MEAN:
        return [graph.emit(op.divide(total, op.maximum(sizes, 1.0))), None, None, None]
    return [graph.emit(op.where(op.equal(sizes, 0.0), 0.0, total)), None, None, None]


def _first(graph: Graph, x: Any, count: Any) -> Any:
    """The first rows of an array."""
    return graph.emit(op.strided_slice(graph.emit(x), [0], [0], [count], [1]))


def _bag_of(graph: Graph, count: Any, offsets: Any, bags: Any) -> Any:
    """The bag to which each of `count` indices belongs."""
    starts = op.expand_dims(_first(graph, graph.cast(offsets, "int64"), bags), 0)
    places = op.expand_dims(op.arange(0, count, 1, "int64"), 1)
    begun = op.sum(op.astype(op.less_equal(starts, places), "int64"), [1])
    return graph.emit(op.subtract(begun, graph.operand(1, "int64")))


@converts("aten.histc")
def histc(graph: Graph, x: Any, bins: int = 100, low: Any = 0, high: Any = 0) -> Any:
    """Number of elements in each of `bins` intervals between `low` and `high`.

    Where these are equal, they are the extrema of the elements, and, where these are equal, too,
    1 less and 1 more.
    """
    dtype = graph.dtype
    flat = graph.cast(graph.reshape(x, [-1]), graph.full_dtype)
    size: Any = float(high - low)
    if low == high:
        low, high = graph.emit(op.min(flat)), graph.emit(op.max(flat))
        empty = graph.emit(op.equal(low, high))
        low = graph.emit(op.where(empty, op.subtract(low, 1.0), low))
        high = graph.emit(op.where(empty, op.add(high, 1.0), high))
        size = op.subtract(high, low)
    inside = op.logical_and(op.greater_equal(flat, low), op.less_equal(flat, high))
    share = op.divide(op.multiply(op.subtract(flat, low), float(bins)), size)
    place = op.where(inside, op.minimum(share, bins - 1.0), float(bins))
    found = counts(graph, graph.emit(op.astype(place, "int64")), None, bins, "int64")
    return graph.cast(found, dtype)


def counts(graph: Graph, places: Any, weights: Any, count: Any, dtype: str) -> Any:
    """The sum of the weights, each 1 by default, at each of `count` places; others are left out."""
    if weights is None:
        weights = graph.emit(op.ones(graph.shape_of(places), dtype))
    total = op.zeros([count + 1], dtype)
    total = op.scatter_nd(total, graph.emit(op.expand_dims(places, 1)), weights, "add")
    return _first(graph, total, count)
