"""Pooling and resizing of images in numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Array = np.ndarray


def poolnd_python(
    np_data: Array, kernel: Sequence[int], strides: Sequence[int], dilation: Sequence[int],
    padding_before: Sequence[int], padding_after: Sequence[int], pool_type: str,
    count_include_pad: bool = True, ceil_mode: bool = False, dtype: str | None = None,
    layout: str | None = None,
) -> Array:  # fmt: skip
    """The maxima or averages of windows, window by window.

    Windows that stick out at the end, which `ceil_mode` allows, begin in the image or in what is
    added before it.
    """
    names = layout or "NC" + "DHW"[5 - np_data.ndim :]
    axes = [names.index(letter) for letter in "DHW" if letter in names]
    shape = list(np_data.shape)
    for n, axis in enumerate(axes):
        room = np_data.shape[axis] + padding_before[n] + padding_after[n]
        room -= (kernel[n] - 1) * dilation[n] + 1
        shape[axis] = (math.ceil if ceil_mode else math.floor)(room / strides[n]) + 1
        if ceil_mode and (shape[axis] - 1) * strides[n] >= np_data.shape[axis] + padding_before[n]:
            shape[axis] -= 1
    result = np.zeros(shape, dtype or np_data.dtype)
    for place in np.ndindex(*shape):
        index: list[object] = list(place)
        count = 1
        for n, axis in enumerate(axes):
            start = place[axis] * strides[n] - padding_before[n]
            window = [start + k * dilation[n] for k in range(kernel[n])]
            extent = np_data.shape[axis]
            index[axis] = np.array([p for p in window if 0 <= p < extent], int)
            end = extent + padding_after[n]
            count *= sum(p < end for p in window) if count_include_pad else len(index[axis])  # type: ignore[arg-type]
        inside = np_data[_box(index)]
        result[place] = inside.max() if pool_type == "max" else inside.sum() / count
    return result


def adaptive_pool(
    np_data: Array, out_size: int | Sequence[int], pool_type: str, layout: str = "NCHW"
) -> Array:
    """The maxima or averages of as many windows as asked for."""
    axes = [layout.index(letter) for letter in "DHW" if letter in layout]
    sizes = [out_size] * len(axes) if isinstance(out_size, int) else list(out_size)
    shape = list(np_data.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    result = np.zeros(shape, np_data.dtype)
    for place in np.ndindex(*shape):
        index: list[object] = list(place)
        for axis, size in zip(axes, sizes, strict=True):
            extent = np_data.shape[axis]
            start = place[axis] * extent // size
            index[axis] = np.arange(start, math.ceil((place[axis] + 1) * extent / size))
        window = np_data[_box(index)]
        result[place] = window.max() if pool_type == "max" else window.mean()
    return result


def _box(index: list[object]) -> tuple[Array, ...]:
    return np.ix_(*(np.atleast_1d(np.asarray(item)) for item in index))


def depth_to_space_python(data: Array, block_size: int, mode: str = "DCR") -> Array:
    """Groups of ``block_size ** 2`` channels of ``(batch, channel, height, width)`` as squares."""
    n, c, h, w = data.shape
    b, channels = block_size, c // block_size**2
    if mode == "DCR":
        blocks = data.reshape(n, b, b, channels, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = data.reshape(n, channels, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, channels, h * b, w * b)


def space_to_depth_python(data: Array, block_size: int) -> Array:
    """Squares of pixels of ``(batch, channel, height, width)`` as channels."""
    n, c, h, w = data.shape
    b = block_size
    blocks = data.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * b * b, h // b, w // b)


def upsampling_python(data: Array, scale: Sequence[int], layout: str = "NCHW") -> Array:
    """Each pixel repeated."""
    rows = data.repeat(scale[0], axis=layout.index("H"))
    return rows.repeat(scale[1], axis=layout.index("W"))


def resize2d_python(
    data: Array, scale: Sequence[float], layout: str = "NCHW", method: str = "bilinear",
    coordinate_transformation_mode: str = "align_corners", alpha: float = -0.5,
) -> Array:  # fmt: skip
    """Images enlarged by factors, pixel by pixel.

    Args:
        data: the images.
        scale: the factors of height and width.
        layout: ``"NCHW"`` or ``"NHWC"``.
        method: ``"nearest_neighbor"``, ``"bilinear"`` or ``"bicubic"``.
        coordinate_transformation_mode: ``"half_pixel"``, ``"align_corners"`` or ``"asymmetric"``.
        alpha: the parameter of the cubic kernel.
    """
    images = data if layout == "NCHW" else data.transpose(0, 3, 1, 2)
    sizes = [round(extent * factor) for extent, factor in zip(images.shape[2:], scale, strict=True)]
    weights = [
        _weights(extent, size, method, coordinate_transformation_mode, alpha)
        for extent, size in zip(images.shape[2:], sizes, strict=True)
    ]
    result = np.einsum("nchw,yh,xw->ncyx", images, *weights).astype(data.dtype)
    return result if layout == "NCHW" else result.transpose(0, 2, 3, 1)


def _weights(extent: int, size: int, method: str, mode: str, alpha: float) -> Array:
    """The weight of each pixel for each pixel of the result, along one dimension."""
    matrix = np.zeros((size, extent))
    for index in range(size):
        if mode == "align_corners":
            at = index * (extent - 1) / (size - 1) if size > 1 else 0.0
        else:
            at = index * extent / size
            at += 0.5 * extent / size - 0.5 if mode == "half_pixel" else 0.0
        if method == "nearest_neighbor":
            near = math.floor(at + 0.5) if mode == "align_corners" else math.ceil(at - 0.5)
            parts = {near: 1.0}
        elif method == "bilinear":
            low = math.floor(at)
            parts = {low: 1 - (at - low), low + 1: at - low}
        else:
            low = math.floor(at)
            parts = {low + n: _cubic(abs(at - low - n), alpha) for n in range(-1, 3)}
        for place, weight in parts.items():
            matrix[index, min(max(place, 0), extent - 1)] += weight
    return matrix


def _cubic(x: float, a: float) -> float:
    """The cubic convolution kernel of Keys."""
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0
