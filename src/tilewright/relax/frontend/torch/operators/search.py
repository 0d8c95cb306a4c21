"""Places of extrema."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import converts


def _place(graph: Graph, function: Any, x: Any, dim: int | None, keepdim: bool) -> Any:
    if dim is None:
        return graph.reshape(graph.emit(function(op.reshape(x, [-1]), 0)), graph.shape)
    return graph.cast(graph.emit(function(x, dim, keepdim)), "int64")


@converts("aten.argmax")
def argmax(graph: Graph, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the largest element is."""
    return _place(graph, op.argmax, x, dim, keepdim)


@converts("aten.argmin")
def argmin(graph: Graph, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the smallest element is."""
    return _place(graph, op.argmin, x, dim, keepdim)


@converts("aten.max.dim")
def max_along(graph: Graph, x: Any, dim: int, keepdim: bool = False) -> list[Any]:
    """The largest elements along `dim`, and where they are."""
    return [graph.emit(op.max(x, dim, keepdim)), argmax(graph, x, dim, keepdim)]


@converts("aten.min.dim")
def min_along(graph: Graph, x: Any, dim: int, keepdim: bool = False) -> list[Any]:
    """The smallest elements along `dim`, and where they are."""
    return [graph.emit(op.min(x, dim, keepdim)), argmin(graph, x, dim, keepdim)]
