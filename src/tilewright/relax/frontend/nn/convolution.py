"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter
from tilewright.relax.frontend.nn.tensor import Tensor


class Convolution(Module):
    """Base class of convolutions.

    Args:
        in_channels: the channels of the input.
        out_channels: those of the result.
        kernel_size: the extents of the filters, or one number for all.
        stride: the steps of the filters.
        padding: how many zeros are around the images.
        dilation: the steps between elements of a filter.
        groups: of channels, which are convolved on their own.
        bias: whether a number is added to each channel.
        dtype: of the weight and the bias.
        data_layout: the order of the dimensions of the images.
    """

    rank: int
    operator: Any
    layout: str

    def __init__(
        self, in_channels: Any, out_channels: Any, kernel_size: int | Sequence[int],
        stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        dtype: str | None = None, data_layout: str | None = None,
    ) -> None:  # fmt: skip
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = kernel_size_of(type(self).__name__, kernel_size, self.rank)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.groups, self.data_layout = groups, data_layout or self.layout
        require_whole_groups(type(self).__name__, in_channels, groups)
        self.weight = Parameter((out_channels, in_channels // groups, *self.kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Convolve images, ``(batch, in_channels, ...)``."""
        return type(self).operator(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.data_layout,
        )  # fmt: skip


class Conv1D(Convolution):
    """A convolution of rows, ``(batch, channels, width)``; see `Convolution`."""

    rank, operator, layout = 1, staticmethod(op.conv1d), "NCW"


class Conv2D(Convolution):
    """A convolution of images, ``(batch, channels, height, width)``; see `Convolution`."""

    rank, operator, layout = 2, staticmethod(op.conv2d), "NCHW"


class Conv3D(Convolution):
    """A convolution of volumes, ``(batch, channels, depth, height, width)``; see `Convolution`."""

    rank, operator, layout = 3, staticmethod(op.conv3d), "NCDHW"


class ConvTranspose1D(Module):
    """The transposed convolution of rows.

    Args:
        in_channels: the channels of the input.
        out_channels: those of the result.
        kernel_size: the width of the filters.
        stride: their steps in the result.
        padding: how many elements are cut off at both ends.
        output_padding: how many are added at the end.
        dilation: the steps between elements of a filter.
        groups: of channels, which are convolved on their own.
        bias: whether a number is added to each channel.
        dtype: of the weight and the bias.
    """

    def __init__(
        self, in_channels: Any, out_channels: Any, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = kernel_size_of("ConvTranspose1D", kernel_size, 1)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.output_padding, self.groups = output_padding, groups
        require_whole_groups("ConvTranspose1D", out_channels, groups)
        self.weight = Parameter((in_channels, out_channels // groups, *self.kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to ``(batch, in_channels, width)``."""
        return op.conv1d_transpose(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
            self.dilation, self.groups,
        )  # fmt: skip


def kernel_size_of(layer: str, size: Any, rank: int) -> list[int]:
    """The extents of filters, one for each dimension.

    Raises:
        ArgumentValueError: for another number of extents.
    """
    extents = list(size) if isinstance(size, (list, tuple)) else [size] * rank
    if len(extents) != rank:
        raise ArgumentValueError(f"{layer}: kernel_size has {rank} extents, got {size!r}")
    return extents


def require_whole_groups(layer: str, channels: Any, groups: int) -> None:
    """Require that groups are of equally many channels.

    Raises:
        ArgumentValueError: if they are not.
    """
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise ArgumentValueError(f"{layer}: {groups} groups do not divide {channels} channels")
