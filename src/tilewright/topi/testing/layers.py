"""Pooling, resizing, softmax, normalisations and losses in numpy."""

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


def softmax_python(a_np: Array, axis: int = -1) -> Array:
    """exp(x - max(x)) / sum(exp(x - max(x))) along `axis`."""
    powers = np.exp(a_np - a_np.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np: Array, axis: int = -1) -> Array:
    """The logarithm of the softmax along `axis`."""
    centred = a_np - a_np.max(axis=axis, keepdims=True)
    return centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))


def layer_norm_python(
    data: Array, gamma: Array, beta: Array | None, axis: int | Sequence[int],
    epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` along `axis`."""
    axes = _axes(data, axis)
    added = 0 if beta is None else _along(beta, axes, data)
    return _normalised(data, axes, epsilon) * _along(gamma, axes, data) + added


def instance_norm_python(
    data: Array, gamma: Array, beta: Array | None, channel_axis: int,
    axis: int | Sequence[int], epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """The same with a factor for each channel."""
    shape = [extent if n == channel_axis % data.ndim else 1 for n, extent in enumerate(data.shape)]
    added = 0 if beta is None else beta.reshape(shape)
    return _normalised(data, _axes(data, axis), epsilon) * gamma.reshape(shape) + added


def group_norm_python(
    data: Array, gamma: Array | None, beta: Array | None, num_groups: int, channel_axis: int,
    axes: int | Sequence[int], epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """The same of groups of channels."""
    channel = channel_axis % data.ndim
    others = _axes(data, axes)
    parts = np.split(data, num_groups, axis=channel)
    whole = np.concatenate([_normalised(p, (channel, *others), epsilon) for p in parts], channel)
    shape = [extent if n == channel else 1 for n, extent in enumerate(data.shape)]
    if gamma is not None:
        whole = whole * gamma.reshape(shape)
    return whole if beta is None else whole + beta.reshape(shape)


def rms_norm_python(
    data: Array, weight: Array, axis: int | Sequence[int], epsilon: float = 1e-5
) -> Array:
    """``x / sqrt(mean(x * x) + epsilon) * weight`` along `axis`."""
    axes = _axes(data, axis)
    mean = np.mean(data.astype("float32") ** 2, axis=axes, keepdims=True)
    return (data / np.sqrt(mean + epsilon) * _along(weight, axes, data)).astype(data.dtype)


def batch_norm(
    x: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array, axis: int = 1,
    epsilon: float = 1e-5, center: bool = True, scale: bool = True, training: bool = False,
    momentum: float = 0.1,
) -> list[Array]:  # fmt: skip
    """The normalisation of channels, and the new `moving_mean` and `moving_var`."""
    others = tuple(n for n in range(x.ndim) if n != axis % x.ndim)
    shape = [1 if n in others else extent for n, extent in enumerate(x.shape)]
    mean, variance = (x.mean(others), x.var(others)) if training else (moving_mean, moving_var)
    result = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    if scale:
        result = result * gamma.reshape(shape)
    if center:
        result = result + beta.reshape(shape)
    if training:
        moving_mean = (1 - momentum) * moving_mean + momentum * mean
        moving_var = (1 - momentum) * moving_var + momentum * variance
    return [result.astype(x.dtype), moving_mean.astype(x.dtype), moving_var.astype(x.dtype)]


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """``x / (bias + alpha * sum / size) ** beta``, the sum being that of squares of neighbours."""
    moved = np.moveaxis(a_np, axis, 0)
    total = np.zeros_like(moved)
    for n in range(len(moved)):
        near = moved[max(0, n - size // 2) : n + size // 2 + 1]
        total[n] = (near * near).sum(axis=0)
    return np.moveaxis(moved / (bias + alpha * total / size) ** beta, 0, axis)


def _along(parameter: Array, axes: tuple[int, ...], data: Array) -> Array:
    """`parameter`, whose dimensions are `axes` of `data`, reshaped to broadcast to `data`."""
    ordered = parameter.transpose(np.argsort(axes))
    shape = [extent if n in axes else 1 for n, extent in enumerate(data.shape)]
    return ordered.reshape(shape)


def _axes(data: Array, axis: int | Sequence[int]) -> tuple[int, ...]:
    items = (axis,) if isinstance(axis, int) else axis
    return tuple(item % data.ndim for item in items)


def _normalised(data: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    mean = data.mean(axis=axes, keepdims=True)
    return (data - mean) / np.sqrt(data.var(axis=axes, keepdims=True) + epsilon)


def nll_loss(
    predictions: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> np.ndarray:
    """The negative log likelihood of the right classes, weighted."""
    total_weight, losses = 0.0, np.zeros(targets.shape, predictions.dtype)
    for place in np.ndindex(*targets.shape):
        kind = targets[place]
        if kind == ignore_index:
            continue
        index = (kind,) if predictions.ndim == 1 else (place[0], kind, *place[1:])
        losses[place] = -predictions[index] * weights[kind]
        total_weight += float(weights[kind])
    if reduction == "none":
        return losses
    total = losses.sum(dtype=predictions.dtype)
    return total / predictions.dtype.type(total_weight) if reduction == "mean" else total
