"""Convolutions, of 1, 2 and 3 dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import converts

_FORWARD: Final = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED: Final = {
    1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose,
}  # fmt: skip


def each(values: Any, rank: int) -> list[Any]:
    """A setting of each dimension, where one may stand for all."""
    listed = list(values) if isinstance(values, Sequence) else [values]
    return listed * rank if len(listed) == 1 else listed


def _with_batch(graph: Graph, x: Any, rank: int) -> Any:
    """`x` with a batch dimension, which torch lets callers leave out."""
    return x if graph.rank_of(x) == rank + 2 else graph.reshape(x, [1, *graph.shape_of(x)])


def _with_bias(graph: Graph, value: Any, bias: Any, rank: int) -> Any:
    """`value` plus a bias for each channel, in the shape of the result."""
    if bias is not None:
        thin = graph.reshape(bias, [1, graph.shape_of(bias)[0], *[1] * rank])
        value = graph.emit(op.add(value, thin))
    return graph.reshape(value, graph.shape)


@converts("aten.conv1d", "aten.conv2d", "aten.conv3d")
def convolve(
    graph: Graph, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution; `padding` may be ``"same"`` or ``"valid"``."""
    rank = graph.rank_of(weight) - 2
    dilation = each(dilation, rank)
    settings = {"strides": each(stride, rank), "dilation": dilation, "groups": groups}
    pads = _padding(graph, padding, weight, dilation)
    value = _FORWARD[rank](_with_batch(graph, x, rank), weight, padding=pads, **settings)
    return _with_bias(graph, graph.emit(value), bias, rank)


def _padding(graph: Graph, padding: Any, weight: Any, dilation: Sequence[int]) -> list[Any]:
    """The padding before and after each dimension: all before, then all after."""
    rank = len(dilation)
    if padding == "valid":
        return [0] * (2 * rank)
    if padding == "same":
        kernel = [int(extent.value) for extent in graph.shape_of(weight)[2:]]
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        before = [amount // 2 for amount in total]
        return [*before, *(t - b for t, b in zip(total, before, strict=True))]
    return each(padding, rank) * 2


@converts("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d")
def convolve_transposed(
    graph: Graph, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of a convolution."""
    rank = graph.rank_of(weight) - 2
    value = _TRANSPOSED[rank](
        _with_batch(graph, x, rank),
        weight,
        strides=each(stride, rank),
        padding=each(padding, rank) * 2,
        output_padding=each(output_padding, rank),
        dilation=each(dilation, rank),
        groups=groups,
    )
    return _with_bias(graph, graph.emit(value), bias, rank)


@converts("aten.convolution")
def convolution(
    graph: Graph, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """A convolution or its transpose."""
    if transposed:
        return convolve_transposed(
            graph, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return convolve(graph, x, weight, bias, stride, padding, dilation, groups)
