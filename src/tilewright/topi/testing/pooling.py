"""Pooling in numpy."""

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
