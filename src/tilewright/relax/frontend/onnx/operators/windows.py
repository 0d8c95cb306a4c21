"""Elements of windows at their places: where maxima are, and images from windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright import topi
from tilewright.ir.arithmetic import floordiv
from tilewright.relax import op
from tilewright.relax.frontend.compositions import product
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.layout import sliced
from tilewright.relax.frontend.onnx.table import converts


def _table(
    extents: Sequence[int], counts: Sequence[int], kernel: Sequence[int],
    stride: Sequence[int], dilation: Sequence[int],
) -> np.ndarray:  # fmt: skip
    """The elements of each window by their places among all, ``(*counts, *kernel)``."""
    rank = len(kernel)
    index: Any = np.zeros((1,) * (2 * rank), "int64")
    for n, extent in enumerate(extents):
        at = np.arange(counts[n])[:, None] * stride[n] + np.arange(kernel[n]) * dilation[n]
        thin = [1] * (2 * rank)
        thin[n], thin[rank + n] = at.shape
        index = index * extent + at.reshape(thin)
    return index


def places_of_maxima(
    graph: Graph, x: Any, kernel: Sequence[int], padding: Sequence[int], stride: Sequence[int],
    dilation: Sequence[int], ceil_mode: bool, column_major: bool,
) -> Any:  # fmt: skip
    """Where the first of the largest elements of each window is among all elements."""
    layout = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[len(kernel)]
    places = graph.emit_te(
        topi.nn.places_of_maxima, x, list(kernel), list(stride), list(dilation), list(padding),
        ceil_mode, layout,
    )  # fmt: skip
    return _among_all(graph, x, places, column_major)


def _among_all(graph: Graph, x: Any, places: Any, column_major: bool) -> Any:
    """Places among all elements, of places among those of a channel."""
    extents = graph.shape_of(x)
    if column_major:  # the last dimension counts most
        weights, factor = [], 1
        for extent in extents[2:]:
            weights.append(factor)
            factor = factor * extent
        places = _replaced(graph, places, extents[2:], weights)
    count = op.arange(0, extents[0] * extents[1], 1, "int64")
    start = op.multiply(count, graph.operand(product(extents[2:]), "int64"))
    thin = [extents[0], extents[1], *[1] * (len(extents) - 2)]
    return op.add(places, graph.reshape(graph.emit(start), thin))


def _replaced(graph: Graph, places: Any, extents: Sequence[Any], weights: Sequence[Any]) -> Any:
    """Row-major places with other weights for their coordinates."""
    rest, total = places, None
    for extent, weight in zip(reversed(extents), reversed(weights), strict=True):
        digit = op.floor_mod(rest, graph.operand(extent, "int64"))
        term = op.multiply(digit, graph.operand(weight, "int64"))
        total = graph.emit(term if total is None else op.add(total, term))
        rest = graph.emit(op.floor_divide(rest, graph.operand(extent, "int64")))
    return total


@converts("MaxUnpool")
def max_unpool(
    graph: Graph, x: Any, places: Any, output_shape: Any = None, *, kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """An array with elements at the places where maxima were, and zeros elsewhere."""
    rank = len(kernel_shape)
    padding, stride = pads or [0] * (2 * rank), strides or [1] * rank
    extents = graph.shape_of(x)
    shape = [*extents[:2], *(
        (extent - 1) * stride[n] - padding[n] - padding[rank + n] + kernel_shape[n]
        for n, extent in enumerate(extents[2:])
    )]  # fmt: skip
    dtype = graph.dtype_of(x)
    index, flat = (graph.reshape(value, [product(extents)]) for value in (places, x))
    wanted: list[Any] = shape
    if output_shape is not None:
        # The places count in the smaller array, whose rows are parts of those of the result.
        wanted = graph.integers(output_shape)
        weights = [product(wanted[n + 1 :]) for n in range(len(wanted))]
        index = _replaced(graph, index, shape, weights)
    zeros = graph.emit(op.full([product(wanted)], graph.operand(0, dtype), dtype))
    return graph.reshape(graph.emit(op.scatter_elements(zeros, index, flat)), wanted)


@converts("Col2Im")
def fold(
    graph: Graph, x: Any, image_shape: Any, block_shape: Any, *,
    dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Images from the elements of their windows; where windows overlap, elements are added."""
    image, block = graph.axes(image_shape, "image_shape"), graph.axes(block_shape, "block_shape")
    rank = len(image)
    stride, dilation = strides or [1] * rank, dilations or [1] * rank
    padding = pads or [0] * (2 * rank)
    wide = [extent + padding[n] + padding[rank + n] for n, extent in enumerate(image)]
    counts = [
        (whole - dilation[n] * (block[n] - 1) - 1) // stride[n] + 1 for n, whole in enumerate(wide)
    ]
    index = _table(wide, counts, block, stride, dilation)
    order = [*range(rank, 2 * rank), *range(rank)]
    batch, channels, windows = graph.shape_of(x)
    channels = floordiv(channels, math.prod(block))
    elements = graph.reshape(x, [batch, channels, windows * math.prod(block)])
    places = graph.constant(index.transpose(order).reshape(1, 1, -1), "int64")
    places = graph.emit(op.broadcast_to(places, graph.shape_of(elements)))
    dtype = graph.dtype_of(x)
    zeros = graph.emit(op.full([batch, channels, math.prod(wide)], graph.operand(0, dtype), dtype))
    value = graph.emit(op.scatter_elements(zeros, places, elements, 2, "add"))
    value = graph.reshape(value, [batch, channels, *wide])
    for n, extent in enumerate(image):
        value = sliced(graph, value, n + 2, padding[n], padding[n] + extent)
    return value
