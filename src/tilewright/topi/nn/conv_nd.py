"""Convolutions of sequences, images and volumes, by layout."""

from __future__ import annotations

from typing import Any

from tilewright.te import Tensor
from tilewright.topi.nn.convolution import convolution


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of sequences in any layout; see `conv1d_ncw`."""
    layout = kernel_layout or ("OIW" if data_layout == "NCW" else "WIO")
    return convolution(
        "conv1d", data, kernel, strides, padding, dilation, groups, out_dtype,
        data_layout=data_layout, kernel_layout=layout,
    )  # fmt: skip


def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of sequences ``(batch, channel, width)``.

    Args:
        data: the sequences.
        kernel: ``(filter, channel, width)``.
        strides: how far a window moves.
        padding: elements added: one number, ``(before, after)``, ``"VALID"`` or ``"SAME"``.
        dilation: the distance of the elements of a window.
        out_dtype: dtype of the accumulation; by default that of `data`.
    """
    return convolution(
        "conv1d_ncw", data, kernel, strides, padding, dilation, 1, out_dtype,
        data_layout="NCW", kernel_layout="OIW",
    )  # fmt: skip


def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of sequences ``(batch, width, channel)``, by ``(width, channel, filter)``."""
    return convolution(
        "conv1d_nwc", data, kernel, strides, padding, dilation, 1, out_dtype,
        data_layout="NWC", kernel_layout="WIO",
    )  # fmt: skip


def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv1d_ncw` of groups of channels that do not mix."""
    return convolution(
        "group_conv1d_ncw", data, kernel, strides, padding, dilation, groups, out_dtype,
        data_layout="NCW", kernel_layout="OIW",
    )  # fmt: skip


def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Any = 1,
    padding: Any = "VALID",
    dilation: Any = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv1d_nwc` of groups of channels that do not mix."""
    return convolution(
        "group_conv1d_nwc", data, kernel, strides, padding, dilation, groups, out_dtype,
        data_layout="NWC", kernel_layout="WIO",
    )  # fmt: skip


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
        padding: elements added around the images: one number, ``(vertical, horizontal)``,
            ``(top, left, bottom, right)``, ``"VALID"`` or ``"SAME"``.
        dilation: the distances of the elements of a window; one number, or two.
        out_dtype: dtype of the accumulation; by default that of `Input`.
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


def conv3d_ncdhw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of volumes ``(batch, channel, depth, height, width)``.

    Args:
        Input: the volumes.
        Filter: ``(filter, channel, depth, height, width)``.
        stride: how far a window moves; one number, or three.
        padding: elements added around the volumes: one number, three, six, ``"VALID"`` or
            ``"SAME"``.
        dilation: the distances of the elements of a window; one number, or three.
        groups: into how many parts, which do not mix, the channels are divided.
        out_dtype: dtype of the accumulation; by default that of `Input`.
    """
    return convolution(
        "conv3d_ncdhw", Input, Filter, stride, padding, dilation, groups, out_dtype,
        data_layout="NCDHW", kernel_layout="OIDHW",
    )  # fmt: skip


def conv3d_ndhwc(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """`conv3d_ncdhw` with the channels last, by a kernel with the filters last."""
    return convolution(
        "conv3d_ndhwc", Input, Filter, stride, padding, dilation, groups, out_dtype,
        data_layout="NDHWC", kernel_layout="DHWIO",
    )  # fmt: skip
