"""Convolutions of sequences."""

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
        padding: what is added: one number, ``(before, after)``, ``"VALID"`` or ``"SAME"``.
        dilation: the distance of the elements of a window.
        out_dtype: in which products are added; by default that of `data`.
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
