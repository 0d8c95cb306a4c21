"""Images resized with filters as wide as what becomes one pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright import te, tir
from tilewright.relax import const
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.slices import number
from tilewright.relax.frontend.torch.table import UnsupportedError, converts
from tilewright.topi.operands import accumulator


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
    """The means along the columns, then along the rows."""
    given = scales[0] if scales and isinstance(scales[0], list) else scales
    factors = [*given, None, None]
    for axis in (1, 0):
        extent, size = (number(shape[2 + axis]) for shape in (graph.shape_of(x), graph.shape))
        if not isinstance(extent, int) or not isinstance(size, int):
            raise UnsupportedError("dynamic extents of images are not supported")
        ratio = 1 / factors[axis] if factors[axis] else extent / size
        if align_corners:
            ratio = (extent - 1) / (size - 1) if size > 1 else 0.0
        first, weights = _weights(extent, size, ratio, function, radius)
        operands = const(first, "int64"), const(weights, graph.dtype_of(x))
        x = graph.emit_te(_means, x, *operands, 2 + axis, primfunc_name_hint="resize_antialias")
    return x


def _means(x: te.Tensor, first: te.Tensor, weights: te.Tensor, axis: int) -> te.Tensor:
    """The means of windows along a dimension; pixels outside of a window do not count.

    Args:
        x: the images.
        first: the first pixel of each window, ``(size,)``.
        weights: those of the pixels of each window, ``(size, most pixels)``; 0 behind its end.
        axis: the dimension.
    """
    size, most = weights.shape
    step = te.reduce_axis((0, most), "step")
    shape = [*x.shape[:axis], size, *x.shape[axis + 1 :]]
    wide = accumulator(x.dtype)

    def element(*place: Any) -> Any:
        window = place[axis]
        weight = weights(window, step.var)
        pixel = tir.min(first(window) + step.var, x.shape[axis] - 1)
        value = x(*place[:axis], pixel, *place[axis + 1 :])
        term = tir.Cast(wide, value) * tir.Cast(wide, weight)
        return te.sum(tir.Select(weight.equal(0.0), tir.const(0.0, wide), term), axis=step)

    total = te.compute(shape, element, "T_total")
    return te.compute(
        shape, lambda *place: tir.Cast(x.dtype, total(*place)), "T_means", "injective"
    )


def _weights(
    extent: int, size: int, ratio: float, function: Callable[[np.ndarray], np.ndarray], radius: int
) -> tuple[np.ndarray, np.ndarray]:
    """For each of `size` windows over `extent` pixels the first pixel, and the weights from it."""
    width = max(ratio, 1.0)
    centre = ratio * (np.arange(size) + 0.5)[:, None]
    first = np.maximum(np.trunc(centre - radius * width + 0.5), 0)
    last = np.minimum(np.trunc(centre + radius * width + 0.5), extent)
    pixels = first + np.arange(max(int((last - first).max()), 1))
    weights = np.where(pixels < last, function((pixels - centre + 0.5) / width), 0)
    return first[:, 0].astype("int64"), weights / weights.sum(1, keepdims=True)
