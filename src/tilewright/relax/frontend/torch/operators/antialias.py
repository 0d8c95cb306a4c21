"""Images resized with filters as wide as what becomes one pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.relax import const, op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.slices import number
from tilewright.relax.frontend.torch.problems import UnsupportedError
from tilewright.relax.frontend.torch.table import converts


def _triangle(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _cubic(distance: np.ndarray) -> np.ndarray:
    x, a = np.abs(distance), -0.5
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, inner, np.where(x < 2, outer, 0))


@converts("aten._upsample_bilinear2d_aa")
def resize_bilinear(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """Means of the pixels around, the nearer ones counting more."""
    return _resized(graph, x, _triangle, 1, align_corners, scales)


@converts("aten._upsample_bicubic2d_aa")
def resize_bicubic(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """The same with cubic weights."""
    return _resized(graph, x, _cubic, 2, align_corners, scales)


def _resized(
    graph: Graph, x: Any, function: Callable[[np.ndarray], np.ndarray], radius: int,
    align_corners: bool, scales: Sequence[Any],
) -> Any:  # fmt: skip
    """``rows x columns^T`` for each image, with a matrix of weights for each dimension."""
    given = scales[0] if scales and isinstance(scales[0], list) else scales
    factors = [*given, None, None]
    matrices = []
    for axis in (0, 1):
        extent, size = (number(shape[2 + axis]) for shape in (graph.shape_of(x), graph.shape))
        if not isinstance(extent, int) or not isinstance(size, int):
            raise UnsupportedError("dynamic extents of images are not supported")
        ratio = 1 / factors[axis] if factors[axis] else extent / size
        if align_corners:
            ratio = (extent - 1) / (size - 1) if size > 1 else 0.0
        weights = _weights(extent, size, ratio, function, radius)
        matrices.append(const(weights, graph.dtype_of(x)))
    rows, columns = matrices
    return graph.emit(op.matmul(rows, op.matmul(x, op.permute_dims(columns))))


def _weights(
    extent: int, size: int, ratio: float, function: Callable[[np.ndarray], np.ndarray], radius: int
) -> np.ndarray:
    """How much each of `extent` pixels counts for each of `size`."""
    width = max(ratio, 1.0)
    centre = ratio * (np.arange(size) + 0.5)[:, None]
    pixels = np.arange(extent)
    first = np.trunc(centre - radius * width + 0.5)
    last = np.trunc(centre + radius * width + 0.5)
    weights = function((pixels - centre + 0.5) / width)
    weights = np.where((first <= pixels) & (pixels < last), weights, 0)
    return weights / weights.sum(1, keepdims=True)
