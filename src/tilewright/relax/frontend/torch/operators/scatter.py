"""Arrays with elements replaced at indices that are computed."""

from __future__ import annotations

from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.problems import UnsupportedError
from tilewright.relax.frontend.torch.table import converts

_REDUCTIONS: Final = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min",
}  # fmt: skip


def _scatter(graph: Graph, x: Any, dim: int, index: Any, source: Any, reduction: str) -> Any:
    # Only the first elements of the source count, as many as there are indices.
    for axis, extent in enumerate(graph.shape_of(index)):
        if not graph.same_shape(source, graph.shape_of(index)):
            source = graph.emit(op.strided_slice(source, [axis], [0], [extent], [1]))
    return graph.emit(op.scatter_elements(x, index, source, dim, reduction))


@converts("aten.scatter.src")
def scatter(graph: Graph, x: Any, dim: int, index: Any, source: Any) -> Any:
    """`x` with the elements at `index` along `dim` replaced."""
    return _scatter(graph, x, dim, index, source, "update")


@converts("aten.scatter.value")
def scatter_value(graph: Graph, x: Any, dim: int, index: Any, value: Any) -> Any:
    """`x` with one value at `index` along `dim`."""
    source = op.full(graph.shape_of(index), graph.operand(value, graph.dtype), graph.dtype)
    return _scatter(graph, x, dim, index, graph.emit(source), "update")


@converts("aten.scatter_add")
def scatter_add(graph: Graph, x: Any, dim: int, index: Any, source: Any) -> Any:
    """`x` with elements added at `index` along `dim`."""
    return _scatter(graph, x, dim, index, source, "add")


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
