"""New arrays, and conversions of dtypes."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.fourier import Complex
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts


def _filled(graph: Graph, value: Any) -> Any:
    """An array of the result's shape and dtype."""
    return graph.emit(op.full(graph.shape, graph.operand(value, graph.dtype), graph.dtype))


@converts(
    "aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.empty", "aten.empty_like",
    "aten.new_empty", "aten.empty_permuted",
)  # fmt: skip
def zeros(graph: Graph, *_: Any, **__: Any) -> Any:
    """Elements that are 0, as those of an empty array may be."""
    return _filled(graph, 0)


@converts("aten.arange.start", "aten.arange.start_step")
def arange_step(graph: Graph, start: Any, end: Any, step: Any = 1, **_: Any) -> Any:
    """`start`, ``start + step``, ... before `end`."""
    return graph.emit(op.arange(start, end, step, graph.dtype))


@converts("aten.linspace.default")
def linspace(graph: Graph, start: float, end: float, steps: int, **_: Any) -> Any:
    """`steps` numbers from `start` to `end`."""
    dtype = graph.dtype
    numbers = op.arange(0, steps, 1, dtype)
    distance = graph.operand((end - start) / max(steps - 1, 1), dtype)
    return graph.emit(op.add(op.multiply(numbers, distance), graph.operand(start, dtype)))


@converts("aten.eye")
def eye(graph: Graph, *_: Any, **__: Any) -> Any:
    """A matrix with 1 on the diagonal."""
    rows, columns = graph.shape
    row = graph.emit(op.arange(0, rows, 1, dtype="int64"))
    column = graph.emit(op.arange(0, columns, 1, dtype="int64"))
    return graph.emit(op.astype(op.equal(op.expand_dims(row, 1), column), graph.dtype))


@converts("aten.one_hot")
def one_hot(graph: Graph, indices: Any, *_: Any) -> Any:
    """1 at the index and 0 elsewhere, along a new last dimension."""
    classes = graph.emit(op.arange(0, graph.shape[-1], 1, dtype="int64"))
    return graph.emit(op.astype(op.equal(op.expand_dims(indices, -1), classes), "int64"))


@converts(
    "aten.alias", "aten.clone", "aten.contiguous", "aten.detach", "aten.lift_fresh_copy",
    "aten.lift_fresh", "aten.positive",
)  # fmt: skip
def identity(graph: Graph, x: Any, *_: Any, **__: Any) -> Any:
    """The same elements; arrays here are never changed."""
    return x


@converts(
    "aten._to_copy", "aten.to", "aten.type_as", "aten._cast", "prims.convert_element_type"
)  # fmt: skip
def converted(graph: Graph, x: Any, *_: Any, **__: Any) -> Any:
    """The same numbers in another dtype."""
    x = graph.cast(x, graph.dtype)
    if graph.result.dtype.is_complex:
        return Complex(x, graph.emit(op.zeros(graph.shape, graph.dtype)))
    return x


@converts("aten.view.dtype")
def reinterpret(graph: Graph, x: Any, dtype: str) -> Any:
    """The same bytes as another dtype."""
    raise UnsupportedError("reinterpreting the bytes of a tensor is not supported")


convert_by({
    "aten.full aten.full_like": lambda graph, _, value, **__: _filled(graph, value),
    "aten.new_full": lambda graph, _, shape, value, **__: _filled(graph, value),
    "aten.ones aten.ones_like aten.new_ones": lambda graph, *_, **__: _filled(graph, 1),
    "aten.scalar_tensor prims.scalar_tensor": lambda graph, value, **_: _filled(graph, value),
    "aten.arange.default": lambda graph, end, **_: arange_step(graph, 0, end),
    "aten.tril": lambda graph, x, diagonal=0: op.tril(x, diagonal),
    "aten.triu": lambda graph, x, diagonal=0: op.triu(x, diagonal),
    "aten.copy":
        lambda graph, x, source, *_: op.broadcast_to(graph.cast(source, graph.dtype), graph.shape),
})  # fmt: skip
