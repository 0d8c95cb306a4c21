"""Convolutions of each channel on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.convert import as_expr
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import pad_spatial, require_rank, windows_times
from tilewright.topi.nn.window import (
    padding_of,
    per_dimension,
    require_equal,
    spatial_axes,
)


def depthwise_conv2d_nchw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of each channel of ``(batch, channel, height, width)`` on its own.

    Args:
        Input: the images.
        Filter: ``(channel, multiplier, height, width)``: channel ``c`` of the images gives the
            channels ``c * multiplier + q`` of the result.
        stride: how far a window moves; one number, or two.
        padding: what is added around the images; see `conv2d_nchw`.
        dilation: the distances of the elements of a window; one number, or two.
        out_dtype: in which products are added; by default that of `Input`.
    """
    return _depthwise(
        "depthwise_conv2d_nchw", Input, Filter, stride, padding, dilation, out_dtype,
        "NCHW", "CMHW",
    )  # fmt: skip


def depthwise_conv2d_nhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = None,
) -> Tensor:
    """The same with channels last, by a kernel ``(height, width, channel, multiplier)``."""
    return _depthwise(
        "depthwise_conv2d_nhwc", Input, Filter, stride, padding, dilation, out_dtype,
        "NHWC", "HWCM",
    )  # fmt: skip


def _depthwise(
    owner: str,
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None,
    layout: str,
    kernel_layout: str,
) -> Tensor:
    require_rank(owner, "Input", data, layout)
    require_rank(owner, "Filter", kernel, kernel_layout)
    axes = spatial_axes(layout)
    steps = per_dimension(owner, "stride", strides, 2)
    apart = per_dimension(owner, "dilation", dilation, 2)
    window = [kernel.shape[axis] for axis in spatial_axes(kernel_layout)]
    channels = kernel.shape[kernel_layout.index("C")]
    multiplier = kernel.shape[kernel_layout.index("M")]
    require_equal(owner, "the channels", data.shape[layout.index("C")], channels)
    padded = pad_spatial(data, axes, padding_of(owner, padding, window, apart))

    def weight(group: Any, filter: Any, _: Any, place: Sequence[Any]) -> Any:
        index = {"C": group, "M": filter, "H": place[0], "W": place[1]}
        return kernel(*(index[letter] for letter in kernel_layout))

    return windows_times(
        owner, padded, window, steps, apart, weight, out_dtype,
        groups=channels, filters=multiplier, depth=as_expr(1, channels.dtype), layout=layout,
    )  # fmt: skip
