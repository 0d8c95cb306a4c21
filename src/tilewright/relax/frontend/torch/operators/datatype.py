"""Conversions of dtypes, and calls that only matter to how torch keeps tensors."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.problems import UnsupportedError
from tilewright.relax.frontend.torch.table import converts


@converts("aten._to_copy", "aten.to", "aten.type_as", "aten._cast")
def convert_dtype(graph: Graph, x: Any, *_: Any, **__: Any) -> Any:
    """Elements of the dtype of the result."""
    return graph.cast(x, graph.dtype)


@converts(
    "aten.alias", "aten.clone", "aten.contiguous", "aten.detach", "aten.lift_fresh_copy",
    "aten.lift_fresh", "aten.positive",
)  # fmt: skip
def identity(graph: Graph, x: Any, *_: Any, **__: Any) -> Any:
    """The same elements; arrays here are never changed."""
    return x


@converts("aten.copy")
def copy(graph: Graph, x: Any, source: Any, *_: Any) -> Any:
    """`source` with the dtype and shape of `x`."""
    return graph.emit(op.broadcast_to(graph.cast(source, graph.dtype), graph.shape))


@converts("aten.view.dtype")
def reinterpret(graph: Graph, x: Any, dtype: str) -> Any:
    """The same bytes as another dtype."""
    raise UnsupportedError("reinterpreting the bytes of a tensor is not supported")
