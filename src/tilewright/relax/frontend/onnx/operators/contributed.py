"""Operators of onnxruntime that its quantiser writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.quantized import (
    dequantize,
    integer_product,
    requantized,
    rounded,
)
from tilewright.relax.frontend.onnx.table import convert_by, converts
from tilewright.relax.frontend.table import UnsupportedError


def _quantized(graph: Graph, value: Any, scale: Any, zero_point: Any) -> Any:
    """The integers of another scale that stand for numbers."""
    factor, zero = graph.reshape(scale, []), graph.reshape(zero_point, [])
    return rounded(graph, graph.emit(value), factor, zero, graph.dtype_of(zero))


def _of_numbers(function: Callable[[Any, Any], Any]) -> Any:
    """The conversion of a function of two numbers to one of integers that stand for such."""

    def convert(
        graph: Graph, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any,
        scale: Any, zero_point: Any,
    ) -> Any:  # fmt: skip
        x, y = dequantize(graph, a, a_scale, a_zero), dequantize(graph, b, b_scale, b_zero)
        return _quantized(graph, function(x, y), scale, zero_point)

    return convert


convert_by({
    "com.microsoft.QLinearAdd": _of_numbers(op.add),
    "com.microsoft.QLinearMul": _of_numbers(op.multiply),
})  # fmt: skip


@converts("com.microsoft.QLinearGlobalAveragePool")
def global_average_pool(
    graph: Graph, x: Any, x_scale: Any, x_zero: Any, scale: Any, zero_point: Any, *,
    channels_last: int = 0,
) -> Any:  # fmt: skip
    """The mean of each channel."""
    rank = graph.rank_of(x)
    axes = list(range(1, rank - 1)) if channels_last else list(range(2, rank))
    numbers = dequantize(graph, x, x_scale, x_zero)
    return _quantized(graph, op.mean(numbers, axes, True), scale, zero_point)


@converts("com.microsoft.QGemm")
def gemm(
    graph: Graph, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any,
    bias: Any = None, scale: Any = None, zero_point: Any = None, *, alpha: float = 1.0,
    transA: int = 0, transB: int = 0,  # noqa: N803
) -> Any:  # fmt: skip
    """The product of quantised matrices plus a bias in int32, quantised again."""
    if scale is None or zero_point is None or alpha != 1:
        raise UnsupportedError("a product that is not quantised again, or scaled, is not supported")
    a = graph.permute(a, [1, 0]) if transA else a
    b = graph.permute(b, [1, 0]) if transB else b
    total = integer_product(graph, a, a_zero, b, b_zero)
    if bias is not None:
        total = graph.emit(op.add(total, bias))
    return requantized(graph, total, a_scale, b_scale, scale, zero_point, -1)
