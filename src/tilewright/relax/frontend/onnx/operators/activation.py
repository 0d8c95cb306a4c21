"""Activation functions. Those that are not here are what the standard defines them as."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.compositions import product
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import convert_by, converts
from tilewright.relax.frontend.table import UnsupportedError


@converts("Gelu")
def gelu(graph: Graph, x: Any, *, approximate: str = "none") -> Any:
    """The Gaussian error linear unit."""
    if approximate not in ("none", "tanh"):
        raise UnsupportedError(f"the approximation {approximate!r} is not supported")
    return op.nn.gelu_tanh(x) if approximate == "tanh" else op.nn.gelu(x)


def _along(function: Any) -> Any:
    """The conversion of a function along an axis; before version 13, of all behind it."""

    def convert(graph: Graph, x: Any, *, axis: int | None = None) -> Any:
        if graph.version >= 13:
            return function(graph, x, -1 if axis is None else axis)
        rank = graph.rank_of(x)
        axis = graph.axis(1 if axis is None else axis, max(rank, 1))
        shape = graph.shape_of(x)
        flat = graph.reshape(x, [product(shape[:axis]), product(shape[axis:])])
        return graph.reshape(graph.emit(function(graph, flat, -1)), shape)

    return convert


def _hardmax(graph: Graph, x: Any, axis: int) -> Any:
    """1 at the first of the largest elements along an axis, 0 elsewhere."""
    axis = graph.axis(axis, graph.rank_of(x))
    extent = number(graph.shape_of(x)[axis])
    if not isinstance(extent, int):
        raise UnsupportedError("a dynamic extent of the axis is not supported")
    places = graph.emit(op.argmax(x, axis))
    dtype = graph.dtype_of(x)
    return op.one_hot(places, graph.operand(1, dtype), graph.operand(0, dtype), extent, axis)


@converts("PRelu")
def prelu(graph: Graph, x: Any, slope: Any) -> Any:
    """`x`, or ``slope x`` where it is negative."""
    return op.where(op.less(x, graph.scalar_like(0, x)), op.multiply(x, slope), x)


convert_by({
    "Hardmax": _along(_hardmax),
    "Softmax": _along(lambda graph, x, axis: op.nn.softmax(x, axis)),
    "LogSoftmax": _along(lambda graph, x, axis: op.nn.log_softmax(x, axis)),
    "LeakyRelu": lambda graph, x, *, alpha=0.01: op.nn.leakyrelu(x, alpha),
    "Relu": lambda graph, x: op.maximum(x, graph.scalar_like(0, x)),
})  # fmt: skip
