"""Operators of images in numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Array = np.ndarray


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
