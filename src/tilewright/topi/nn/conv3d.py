"""Convolutions of volumes."""

from __future__ import annotations

from typing import Any

from tilewright.te import Tensor
from tilewright.topi.nn.convolution import convolution


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
        padding: what is added around the volumes: one number, three, six, ``"VALID"`` or
            ``"SAME"``.
        dilation: the distances of the elements of a window; one number, or three.
        groups: into how many parts, which do not mix, the channels are divided.
        out_dtype: in which products are added; by default that of `Input`.
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
