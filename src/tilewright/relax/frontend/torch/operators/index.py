"""Elements at indices that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.problems import UnsupportedError
from tilewright.relax.frontend.torch.table import converts


@converts("aten.embedding")
def embedding(graph: Graph, weight: Any, indices: Any, *_: Any) -> Any:
    """A row of `weight` for each index."""
    return graph.emit(op.take(weight, indices, 0))


@converts("aten.index_select")
def index_select(graph: Graph, x: Any, dim: int, index: Any) -> Any:
    """The elements at `index` along `dim`."""
    return graph.emit(op.take(x, index, dim))


@converts("aten.gather")
def gather(graph: Graph, x: Any, dim: int, index: Any, **_: Any) -> Any:
    """For each element of `index`, the element at that place along `dim`."""
    return graph.emit(op.gather_elements(x, index, dim))


@converts("aten.masked_fill")
def masked_fill(graph: Graph, x: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask holds, otherwise `x`."""
    x = graph.cast(x, graph.dtype)
    return graph.emit(op.where(mask, graph.operand(value, graph.dtype), x))


@converts("aten.index")
def index_tensors(graph: Graph, x: Any, indices: Sequence[Any]) -> Any:
    """The elements at indices along several dimensions, which stand for the dimensions' parts."""
    if any(index is not None and graph.dtype_of(index) in ("bool", "uint8") for index in indices):
        raise UnsupportedError("the shape of what a mask selects depends on its elements")
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    chosen = [_from_front(graph, indices[dim], graph.shape_of(x)[dim]) for dim in dims]
    if len(dims) == 1:
        return graph.emit(op.take(x, chosen[0], dims[0]))
    others = [dim for dim in range(graph.rank_of(x)) if dim not in dims]
    picked = graph.emit(op.index_tensor(graph.permute(x, [*dims, *others]), chosen))
    # The dimensions of the indices come first unless the indexed ones lie side by side.
    first = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    count = graph.rank_of(picked) - len(others)
    places = list(range(count, count + first)), list(range(count + first, graph.rank_of(picked)))
    return graph.permute(picked, [*places[0], *range(count), *places[1]])


def _from_front(graph: Graph, index: Any, extent: Any) -> Any:
    """Indices counted from the front, where negative ones count from the end."""
    index = graph.cast(index, "int64")
    negative = op.less(index, 0)
    shifted = op.add(index, graph.operand(extent, "int64"))
    return graph.emit(op.where(negative, shifted, index))
