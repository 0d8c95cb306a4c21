"""Convolutions of images."""

from __future__ import annotations

from typing import Any

from tilewright.te import Tensor
from tilewright.topi.nn.convolution import convolution

KERNEL_LAYOUTS = {"NCHW": "OIHW", "NHWC": "HWIO", "HWCN": "HWIO"}
"""The layout of the kernel that goes with each layout of the images."""


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution in any number of dimensions, groups and layouts."""
    layout = kernel_layout or ("OI" + data_layout[2:] if data_layout[:2] == "NC" else "HWIO")
    return convolution(
        "conv", inp, filt, stride, padding, dilation, groups, out_dtype,
        data_layout=data_layout, kernel_layout=layout,
    )  # fmt: skip


def conv2d(
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of images in any layout; see `conv2d_nchw`."""
    layout = kernel_layout or KERNEL_LAYOUTS.get(data_layout, "OIHW")
    return convolution(
        "conv2d", data, kernel, strides, padding, dilation, 1, out_dtype,
        data_layout=data_layout, kernel_layout=layout,
    )  # fmt: skip


def conv2d_nchw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of images ``(batch, channel, height, width)``.

    Args:
        Input: the images.
        Filter: ``(filter, channel, height, width)``.
        stride: how far a window moves; one number, or two.
        padding: what is added around the images: one number, ``(vertical, horizontal)``,
            ``(top, left, bottom, right)``, ``"VALID"`` or ``"SAME"``.
        dilation: the distances of the elements of a window; one number, or two.
        out_dtype: in which products are added; by default that of `Input`.
    """
    return convolution(
        "conv2d_nchw", Input, Filter, stride, padding, dilation, 1, out_dtype,
        data_layout="NCHW", kernel_layout="OIHW",
    )  # fmt: skip


def conv2d_nhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of ``(batch, height, width, channel)``, by a kernel in the layout HWIO."""
    return convolution(
        "conv2d_nhwc", Input, Filter, stride, padding, dilation, 1, out_dtype,
        data_layout="NHWC", kernel_layout="HWIO",
    )  # fmt: skip


def conv2d_hwcn(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of ``(height, width, channel, batch)``, by a kernel in the layout HWIO."""
    return convolution(
        "conv2d_hwcn", Input, Filter, stride, padding, dilation, 1, out_dtype,
        data_layout="HWCN", kernel_layout="HWIO",
    )  # fmt: skip


def group_conv2d_nchw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv2d_nchw` of groups of channels that do not mix."""
    return convolution(
        "group_conv2d_nchw", Input, Filter, stride, padding, dilation, groups, out_dtype,
        data_layout="NCHW", kernel_layout="OIHW",
    )  # fmt: skip


def group_conv2d_nhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv2d_nhwc` of groups of channels that do not mix."""
    return convolution(
        "group_conv2d_nhwc", Input, Filter, stride, padding, dilation, groups, out_dtype,
        data_layout="NHWC", kernel_layout="HWIO",
    )  # fmt: skip
