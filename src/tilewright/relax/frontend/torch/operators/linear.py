"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.binary import combine
from tilewright.relax.frontend.torch.table import converts


@converts("aten.linear")
def linear(graph: Graph, x: Any, weight: Any, bias: Any = None) -> Any:
    """``x weight^T + bias``."""
    return graph.emit(op.linear(x, weight, bias))


@converts("aten.mm", "aten.bmm", "aten.matmul", "aten.mv", "aten.dot")
def matmul(graph: Graph, x: Any, y: Any) -> Any:
    """The product of two matrices, or of stacks of them."""
    return graph.emit(op.matmul(x, y))


@converts("aten.addmm", "aten.baddbmm", "aten.addmv")
def addmm(graph: Graph, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta bias + alpha x y``."""
    product = graph.emit(op.matmul(x, y))
    if alpha != 1:
        product = combine(graph, op.multiply, product, alpha, graph.dtype)
    if beta == 0:
        return product
    if beta != 1:
        bias = combine(graph, op.multiply, bias, beta, graph.dtype)
    return graph.emit(op.add(product, bias))


@converts("aten.outer", "aten.ger")
def outer(graph: Graph, x: Any, y: Any) -> Any:
    """The products of all pairs of elements."""
    return graph.emit(op.multiply(op.expand_dims(x, 1), y))


@converts("aten.einsum")
def einsum(graph: Graph, equation: str, operands: Sequence[Any], **_: Any) -> Any:
    """A sum of products in Einstein's notation."""
    return graph.emit(op.einsum(operands, equation.replace(" ", "")))
