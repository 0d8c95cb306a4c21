"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.binary import combine
from tilewright.relax.frontend.torch.operators.reduction import vector_norm
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


@converts("aten.addbmm")
def addbmm(graph: Graph, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta bias + alpha`` times the sum of all products of a stack."""
    total = graph.emit(op.sum(op.matmul(x, y), 0))
    if beta == 0:
        return combine(graph, op.multiply, total, alpha, graph.dtype)
    bias, total = (
        combine(graph, op.multiply, value, factor, graph.dtype) if factor != 1 else value
        for value, factor in ((bias, beta), (total, alpha))
    )
    return graph.emit(op.add(total, bias))


@converts("aten.bilinear")
def bilinear(graph: Graph, x: Any, y: Any, weight: Any, bias: Any = None) -> Any:
    """``x weight y`` of vectors, for each matrix of `weight`, plus a bias."""
    outputs, first, second = graph.shape_of(weight)
    rows = graph.reshape(x, [-1, first])
    matrix = graph.reshape(weight, [outputs * first, second])
    # A row of the product of y and the matrices, for each output and each element of x.
    products = graph.emit(op.linear(graph.reshape(y, [-1, second]), matrix))
    products = graph.reshape(products, [-1, outputs, first])
    value = graph.emit(op.sum(op.multiply(products, op.expand_dims(rows, 1)), -1))
    value = value if bias is None else graph.emit(op.add(value, bias))
    return graph.reshape(value, graph.shape)


@converts("aten.cdist", "aten._cdist_forward")
def cdist(graph: Graph, x: Any, y: Any, order: float = 2, *_: Any) -> Any:
    """The distances of all pairs of vectors."""
    difference = graph.emit(op.subtract(op.expand_dims(x, -2), op.expand_dims(y, -3)))
    return vector_norm(graph, difference, order, -1)


@converts("aten.outer", "aten.ger")
def outer(graph: Graph, x: Any, y: Any) -> Any:
    """The products of all pairs of elements."""
    return graph.emit(op.multiply(op.expand_dims(x, 1), y))


@converts("aten.einsum")
def einsum(graph: Graph, equation: str, operands: Sequence[Any], **_: Any) -> Any:
    """A sum of products in Einstein's notation."""
    return graph.emit(op.einsum(operands, equation.replace(" ", "")))
