"""Products of matrices and convolutions in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def dense(
    x: np.ndarray,
    y: np.ndarray,
    bias: np.ndarray | None = None,
    use_bias: bool = False,
    use_relu: bool = False,
    out_dtype: str | None = None,
) -> np.ndarray:
    """``x @ y.T``, with a bias and the maximum with 0 if asked for."""
    dtype = out_dtype or x.dtype
    result = x.astype(dtype) @ y.T.astype(dtype)
    if use_bias and bias is not None:
        result = result + bias.astype(dtype)
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(
    x: np.ndarray,
    y: np.ndarray,
    out_dtype: str | None = None,
    trans_x: bool = False,
    trans_y: bool = True,
) -> np.ndarray:
    """The products of the matrices of two batches."""
    dtype = out_dtype or x.dtype
    left = x.swapaxes(1, 2) if trans_x else x
    right = y.swapaxes(1, 2) if trans_y else y
    return left.astype(dtype) @ right.astype(dtype)


Array = np.ndarray


def dilate_python(
    input_np: Array, strides: Sequence[int], dilation_value: float = 0.0,
    out_dtype: str | None = None,
) -> Array:  # fmt: skip
    """`input_np` with its elements ``strides[n]`` apart along dimension ``n``."""
    shape = [(extent - 1) * step + 1 for extent, step in zip(input_np.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    result[tuple(slice(None, None, step) for step in strides)] = input_np
    return result


def conv1d_ncw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, dilation: Any = 1
) -> Array:
    """The convolution of ``(batch, channel, width)`` by ``(filter, channel, width)``."""
    return _convolution(a_np, w_np, stride, padding, dilation)


def conv1d_nwc_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, dilation: Any = 1
) -> Array:
    """The convolution of ``(batch, width, channel)`` by ``(width, channel, filter)``."""
    return _last(_convolution(_first(a_np), w_np.transpose(2, 1, 0), stride, padding, dilation))


def conv2d_nchw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, groups: int = 1
) -> Array:
    """The convolution of ``(batch, channel, height, width)``.

    Args:
        a_np: the images.
        w_np: ``(filter, channel, height, width)``.
        stride: one number, or two.
        padding: one number, two, ``(top, left, bottom, right)``, ``"VALID"`` or ``"SAME"``.
        groups: into how many groups the channels are divided.
    """
    return _convolution(a_np, w_np, stride, padding, 1, groups)


def conv2d_nhwc_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, groups: int = 1
) -> Array:
    """The convolution of ``(batch, height, width, channel)``, by a kernel in the layout HWIO."""
    kernel = w_np.transpose(3, 2, 0, 1)
    return _last(_convolution(_first(a_np), kernel, stride, padding, 1, groups))


def conv2d_hwcn_python(a_np: Array, w_np: Array, stride: Any, padding: Any) -> Array:
    """The convolution of ``(height, width, channel, batch)``, by a kernel in the layout HWIO."""
    result = _convolution(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return result.transpose(2, 3, 1, 0)


def conv3d_ncdhw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, groups: int = 1
) -> Array:
    """The convolution of ``(batch, channel, depth, height, width)``."""
    return _convolution(a_np, w_np, stride, padding, 1, groups)


def conv3d_ndhwc_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, groups: int = 1
) -> Array:
    """The convolution of ``(batch, depth, height, width, channel)``, by the layout DHWIO."""
    kernel = w_np.transpose(4, 3, 0, 1, 2)
    return _last(_convolution(_first(a_np), kernel, stride, padding, 1, groups))


def depthwise_conv2d_python_nchw(
    input_np: Array, filter_np: Array, stride: Any, padding: Any
) -> Array:
    """The convolution of each channel, by a kernel ``(channel, multiplier, height, width)``."""
    channels, multiplier, *window = filter_np.shape
    kernel = filter_np.reshape(channels * multiplier, 1, *window)
    return _convolution(input_np, kernel, stride, padding, 1, channels)


def depthwise_conv2d_python_nhwc(
    input_np: Array, filter_np: Array, stride: Any, padding: Any
) -> Array:
    """The same with the channels last, by a kernel ``(height, width, channel, multiplier)``."""
    kernel = filter_np.transpose(2, 3, 0, 1)
    return _last(depthwise_conv2d_python_nchw(_first(input_np), kernel, stride, padding))


def conv1d_transpose_ncw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, output_padding: Any = 0
) -> Array:
    """The transposed convolution by a kernel ``(channel, filter, width)``."""
    return _transposed(a_np, w_np, stride, padding, output_padding, 1)


def conv2d_transpose_nchw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, output_padding: Any = 0, groups: int = 1
) -> Array:
    """The transposed convolution by a kernel ``(channel, filter, height, width)``."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv3d_transpose_ncdhw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, output_padding: Any = 0
) -> Array:
    """The transposed convolution by a kernel ``(channel, filter, depth, height, width)``."""
    return _transposed(a_np, w_np, stride, padding, output_padding, 1)


def pads_of(padding: Any, window: Sequence[int]) -> list[tuple[int, int]]:
    """Padding before and after each spatial dimension."""
    count = len(window)
    if isinstance(padding, str):
        total = [extent - 1 if padding == "SAME" else 0 for extent in window]
        return [((t + 1) // 2, t // 2) for t in total]
    items = list(padding) if isinstance(padding, (tuple, list)) else [padding]
    items = items * count if len(items) == 1 else items
    items = items * 2 if len(items) == count else items
    return list(zip(items[:count], items[count:], strict=True))


def per_axis(value: Any, count: int) -> list[int]:
    """One number for each spatial dimension."""
    items = list(value) if isinstance(value, (tuple, list)) else [value]
    return items * count if len(items) == 1 else items


def _first(a: Array) -> Array:
    """The channels, which are last, behind the batch."""
    return np.moveaxis(a, -1, 1)


def _last(a: Array) -> Array:
    return np.moveaxis(a, 1, -1)


def _convolution(
    data: Array, kernel: Array, stride: Any, padding: Any, dilation: Any = 1, groups: int = 1
) -> Array:
    count = data.ndim - 2
    steps, apart = per_axis(stride, count), per_axis(dilation, count)
    kernel = dilate_python(kernel, [1, 1, *apart])
    window = kernel.shape[2:]
    data = np.pad(data, [(0, 0), (0, 0), *pads_of(padding, window)])
    axes = tuple(range(2, data.ndim))
    windows = sliding_window_view(data, window, axes)
    windows = windows[(slice(None), slice(None), *(slice(None, None, step) for step in steps))]
    parts = []
    for some, filters in zip(
        np.split(windows, groups, axis=1), np.split(kernel, groups, axis=0), strict=True
    ):
        inner = list(range(some.ndim - count, some.ndim))
        product = np.tensordot(some, filters, ([1, *inner], list(range(1, kernel.ndim))))
        parts.append(_first(product))
    return np.ascontiguousarray(np.concatenate(parts, axis=1)).astype(data.dtype)


def _transposed(
    data: Array, kernel: Array, stride: Any, padding: Any, output_padding: Any, groups: int
) -> Array:
    """Each element of `data`, times the kernel, added to a window of the result."""
    count = data.ndim - 2
    steps, window = per_axis(stride, count), kernel.shape[2:]
    extra = per_axis(output_padding, count)
    cuts = pads_of(padding, window)
    outputs = kernel.shape[1]
    room = [(e - 1) * s + k for e, s, k in zip(data.shape[2:], steps, window, strict=True)]
    whole = np.zeros(
        (data.shape[0], outputs * groups, *(r + e for r, e in zip(room, extra, strict=True)))
    )
    depth = data.shape[1] // groups
    for group in range(groups):
        channels = slice(group * depth, (group + 1) * depth)
        for place in np.ndindex(*data.shape[2:]):
            spread = np.einsum(
                "nc,co...->no...", data[(slice(None), channels, *place)], kernel[channels]
            )
            where = [slice(p * s, p * s + k) for p, s, k in zip(place, steps, window, strict=True)]
            filters = slice(group * outputs, (group + 1) * outputs)
            whole[(slice(None), filters, *where)] += spread
    inside = [
        slice(low, extent - high) for (low, high), extent in zip(cuts, whole.shape[2:], strict=True)
    ]
    return whole[(slice(None), slice(None), *inside)].astype(data.dtype)
