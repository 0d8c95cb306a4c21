"""Orders of elements."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import converts


@converts("aten.topk")
def topk(
    graph: Graph, x: Any, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True
) -> list[Any]:
    """The `k` largest or smallest elements, and where they are."""
    pair = graph.emit(op.topk(x, k, dim, "both", largest, "int64"))
    return [graph.emit(pair[0]), graph.emit(pair[1])]


@converts("aten.sort.default")
def sort(graph: Graph, x: Any, dim: int = -1, descending: bool = False) -> list[Any]:
    """The elements in order along `dim`, and where they were."""
    order = argsort(graph, x, dim, descending)
    return [graph.emit(op.sort(x, dim, descending)), order]


@converts("aten.sort.stable")
def sort_stable(
    graph: Graph, x: Any, *, stable: Any = None, dim: int = -1, descending: bool = False
) -> list[Any]:
    """The same; equal elements keep their order always."""
    return sort(graph, x, dim, descending)


@converts("aten.argsort.default")
def argsort(graph: Graph, x: Any, dim: int = -1, descending: bool = False) -> Any:
    """Where the elements are in order."""
    return graph.emit(op.argsort(x, dim, descending, "int64"))
