"""Pooling of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.products import window
from tilewright.relax.frontend.onnx.operators.windows import places_of_maxima
from tilewright.relax.frontend.onnx.table import convert_by, converts
from tilewright.relax.frontend.table import UnsupportedError

_MAX: Final = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVERAGE: Final = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


def _pooled(
    graph: Graph, functions: Any, x: Any, kernel: Sequence[int], auto_pad: str, pads: Any,
    strides: Any, dilations: Any, ceil_mode: int, **options: Any,
) -> Any:  # fmt: skip
    if len(kernel) not in functions:
        raise UnsupportedError(f"windows of {len(kernel)} dimensions are not supported")
    padding, stride, dilation = window(graph, x, kernel, auto_pad, pads, strides, dilations)
    value = functions[len(kernel)](
        x, pool_size=list(kernel), strides=stride, padding=padding, dilation=dilation,
        ceil_mode=bool(ceil_mode) and auto_pad in ("NOTSET", ""), **options,
    )  # fmt: skip
    return graph.emit(value)


@converts("MaxPool")
def max_pool(
    graph: Graph, x: Any, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET",
    ceil_mode: int = 0, dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    storage_order: int = 0, strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    value = _pooled(graph, _MAX, x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode)
    if not graph.has_result(1):
        return value
    form = window(graph, x, kernel_shape, auto_pad, pads, strides, dilations)
    rounds_up = bool(ceil_mode) and auto_pad in ("NOTSET", "")
    places = places_of_maxima(graph, x, kernel_shape, *form, rounds_up, bool(storage_order))
    return [value, places]


@converts("AveragePool")
def average_pool(
    graph: Graph, x: Any, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET",
    ceil_mode: int = 0, count_include_pad: int = 0, dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    return _pooled(
        graph, _AVERAGE, x, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode,
        count_include_pad=bool(count_include_pad),
    )  # fmt: skip


@converts("LpPool")
def norm_pool(
    graph: Graph, x: Any, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET",
    ceil_mode: int = 0, dilations: Sequence[int] | None = None, p: int = 2,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The norm of each window."""
    count = 1
    for extent in kernel_shape:
        count *= extent
    powers = graph.emit(_power(graph, graph.emit(op.abs(x)), p))
    mean = _pooled(
        graph, _AVERAGE, powers, kernel_shape, auto_pad, pads, strides, dilations, ceil_mode,
        count_include_pad=True,
    )  # fmt: skip
    return _root(graph, op.multiply(mean, graph.scalar_like(count, x)), x, p)


def _power(graph: Graph, x: Any, p: int) -> Any:
    if p == 1:
        return x
    return op.multiply(x, x) if p == 2 else op.power(x, graph.scalar_like(p, x))


def _root(graph: Graph, value: Any, like: Any, p: int) -> Any:
    if p == 1:
        return value
    return op.sqrt(value) if p == 2 else op.power(value, graph.scalar_like(1 / p, like))


def _everything(graph: Graph, x: Any) -> list[int]:
    return list(range(2, graph.rank_of(x)))


@converts("GlobalLpPool")
def global_norm_pool(graph: Graph, x: Any, *, p: int = 2) -> Any:
    """The norm of each channel."""
    total = op.sum(_power(graph, graph.emit(op.abs(x)), p), _everything(graph, x), True)
    return _root(graph, total, x, p)


convert_by({
    "GlobalAveragePool": lambda graph, x: op.mean(x, _everything(graph, x), True),
    "GlobalMaxPool": lambda graph, x: op.max(x, _everything(graph, x), True),
})  # fmt: skip
