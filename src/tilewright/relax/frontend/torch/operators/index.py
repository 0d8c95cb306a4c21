"""Elements at indices that are computed, and arrays with such elements replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.compositions import broadcast, places_of_nonzero
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts


@converts("aten.masked_fill")
def masked_fill(graph: Graph, x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask holds, otherwise `x`."""
    x = graph.cast(x, graph.dtype)
    return graph.emit(op.where(mask, graph.operand(value, graph.dtype), x))


@converts("aten.index")
def index_tensors(graph: Graph, x: Any, indices: Sequence[Any]) -> Any:
    """The elements at indices along several dimensions, which stand for the dimensions' parts."""
    indices = _without_masks(graph, indices)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    chosen = [_from_front(graph, indices[dim], graph.shape_of(x)[dim]) for dim in dims]
    if len(dims) == 1:
        return graph.emit(op.take(x, chosen[0], dims[0]))
    others = [dim for dim in range(graph.rank_of(x)) if dim not in dims]
    picked = graph.emit(op.index_tensor(graph.permute(x, [*dims, *others]), chosen))
    return graph.permute(picked, _indexed_order(dims, graph.rank_of(picked), len(others)))


def _is_mask(graph: Graph, index: Any) -> bool:
    return index is not None and graph.dtype_of(index) in ("bool", "uint8")


def _without_masks(graph: Graph, indices: Sequence[Any]) -> list[Any]:
    """Indices where masks have become the places at which they hold, one for each dimension."""
    result: list[Any] = []
    for index in indices:
        if not _is_mask(graph, index):
            result.append(index)
            continue
        places = places_of_nonzero(graph, index)
        result += [row(graph, places, dim) for dim in range(graph.rank_of(index))]
    return result


def row(graph: Graph, x: Any, position: int) -> Any:
    """One row of a matrix as a vector."""
    extent = graph.shape_of(x)[1]
    return graph.reshape(graph.emit(op.strided_slice(x, [0], [position], [position + 1])), [extent])


def _indexed_order(dims: Sequence[int], rank: int, others: int) -> list[int]:
    """The dimensions of ``x[indices]``, where those of the indices come first otherwise.

    They come first here, too, unless the indexed dimensions lie side by side.
    """
    first = dims[0] if list(dims) == list(range(dims[0], dims[-1] + 1)) else 0
    count = rank - others
    return [*range(count, count + first), *range(count), *range(count + first, rank)]


@converts("aten.index_put", "aten._unsafe_index_put")
def index_put(
    graph: Graph, x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> Any:
    """`x` with the elements at indices along several dimensions replaced, or added to."""
    if any(_is_mask(graph, index) for index in indices):
        if _is_one_value(graph, indices, values):
            return _put_where(graph, x, indices, values, accumulate)
        indices = _without_masks(graph, indices)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    extents = graph.shape_of(x)
    chosen = [_from_front(graph, indices[dim], extents[dim]) for dim in dims]
    common = _broadcast_together(graph, [indices[dim] for dim in dims])
    places = [broadcast(graph, index, common) for index in chosen]
    places = [graph.emit(op.expand_dims(place, -1)) for place in places]
    others = [dim for dim in range(len(extents)) if dim not in dims]
    rank = len(common) + len(others)
    order = _indexed_order(dims, rank, len(others))
    shape = [*common, *(extents[dim] for dim in others)]
    values = broadcast(graph, values, [shape[dim] for dim in order])
    updates = graph.permute(values, [order.index(dim) for dim in range(rank)])
    front = [*dims, *others]
    result = op.scatter_nd(
        graph.permute(x, front),
        graph.emit(op.concat(places, -1)) if len(places) > 1 else places[0],
        updates,
        "add" if accumulate else "update",
    )
    return graph.permute(graph.emit(result), [front.index(dim) for dim in range(len(extents))])


def _broadcast_together(graph: Graph, indices: Sequence[Any]) -> list[Any]:
    """The common shape of several indices."""
    total = indices[0]
    for index in indices[1:]:
        total = op.add(graph.cast(total, "int64"), graph.cast(index, "int64"))
        total = graph.emit(total)
    return graph.shape_of(total)


def _is_one_value(graph: Graph, indices: Sequence[Any], values: Any) -> bool:
    """Whether one value takes the places of all elements that one mask chooses."""
    masks = [index for index in indices if index is not None]
    return len(masks) == 1 and graph.same_shape(values, [1] * graph.rank_of(values))


def _put_where(graph: Graph, x: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    """`x` with one value where a mask holds."""
    masks = [index for index in indices if index is not None]
    before = next(dim for dim, index in enumerate(indices) if index is not None)
    after = graph.rank_of(x) - before - graph.rank_of(masks[0])
    mask = graph.cast(masks[0], "bool")
    mask = graph.reshape(mask, [*[1] * before, *graph.shape_of(mask), *[1] * after])
    value = graph.reshape(values, [])
    value = op.add(x, value) if accumulate else value
    return graph.emit(op.where(mask, value, x))


@converts("aten.masked_scatter")
def masked_scatter(graph: Graph, x: Any, mask: Any, source: Any) -> Any:
    """`x` with the elements of `source`, one after the other, where the mask holds."""
    shape = graph.shape
    x, mask = broadcast(graph, x, shape), broadcast(graph, mask, shape)
    chosen = graph.reshape(graph.cast(mask, "int64"), [-1])
    # Each place takes as many elements on as there are chosen ones before it.
    order = graph.emit(op.subtract(op.cumsum(chosen, 0, "int64"), 1))
    elements = graph.reshape(source, [-1])
    taken = graph.emit(op.take(elements, op.maximum(order, 0), 0, mode="clip"))
    return graph.emit(op.where(mask, graph.reshape(taken, shape), x))


def _from_front(graph: Graph, index: Any, extent: Any) -> Any:
    """Indices counted from the front, where negative ones count from the end."""
    index = graph.cast(index, "int64")
    negative = op.less(index, 0)
    shifted = op.add(index, graph.operand(extent, "int64"))
    return graph.emit(op.where(negative, shifted, index))


_REDUCTIONS: Final = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min",
}  # fmt: skip


def _scatter(graph: Graph, x: Any, dim: int, index: Any, source: Any, reduction: str) -> Any:
    # Only the first elements of the source count: one for each index.
    for axis, extent in enumerate(graph.shape_of(index)):
        if not graph.same_shape(source, graph.shape_of(index)):
            source = graph.emit(op.strided_slice(source, [axis], [0], [extent], [1]))
    return graph.emit(op.scatter_elements(x, index, source, dim, reduction))


@converts("aten.scatter.value")
def scatter_value(graph: Graph, x: Any, dim: int, index: Any, value: Any) -> Any:
    """`x` with one value at `index` along `dim`."""
    source = op.full(graph.shape_of(index), graph.operand(value, graph.dtype), graph.dtype)
    return _scatter(graph, x, dim, index, graph.emit(source), "update")


@converts("aten.scatter.reduce")
def scatter_with(graph: Graph, x: Any, dim: int, index: Any, source: Any, *, reduce: str) -> Any:
    """`x` with elements combined at `index` along `dim`."""
    return _scatter(graph, x, dim, index, source, _REDUCTIONS[reduce])


@converts("aten.scatter_reduce.two")
def scatter_reduce(
    graph: Graph, x: Any, dim: int, index: Any, source: Any, reduce: str, *,
    include_self: bool = True,
) -> Any:  # fmt: skip
    """`x` with elements combined at `index` along `dim`."""
    if not include_self or reduce not in _REDUCTIONS:
        raise UnsupportedError(f"reduce={reduce!r}, include_self={include_self} is not supported")
    return _scatter(graph, x, dim, index, source, _REDUCTIONS[reduce])


convert_by({
    "aten.embedding": lambda graph, weight, indices, *_: op.take(weight, indices, 0),
    "aten.index_select": lambda graph, x, dim, index: op.take(x, index, dim),
    "aten.gather": lambda graph, x, dim, index, **_: op.gather_elements(x, index, dim),
    "aten.scatter.src":
        lambda graph, x, dim, index, source: _scatter(graph, x, dim, index, source, "update"),
    "aten.scatter_add":
        lambda graph, x, dim, index, source: _scatter(graph, x, dim, index, source, "add"),
})  # fmt: skip
