"""Convolutions of sequences, images and volumes, by layout and by channel."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import convolution, pad_spatial, require_rank, windows_times
from tilewright.topi.nn.window import (
    padding_of,
    per_dimension,
    places,
    reach,
    require_equal,
    spatial_axes,
)
from tilewright.topi.operands import or_neutral, variant


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


def _in_layouts(data_layout: str, kernel_layout: str) -> Callable[..., Tensor]:
    """A convolution from its name, the tensors, strides, padding, dilation, (groups,) and dtype."""

    def compute(owner: str, data: Tensor, kernel: Tensor, *options: Any) -> Tensor:
        *moves, out_dtype = options
        return convolution(
            owner, data, kernel, *moves, out_dtype=out_dtype,
            data_layout=data_layout, kernel_layout=kernel_layout,
        )  # fmt: skip

    return compute


conv1d_nwc = variant(
    conv1d_ncw,
    "conv1d_nwc",
    """A convolution of sequences ``(batch, width, channel)``, by ``(width, channel, filter)``.""",
    _in_layouts("NWC", "WIO"),
)


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


group_conv1d_nwc = variant(
    group_conv1d_ncw,
    "group_conv1d_nwc",
    """`conv1d_nwc` of groups of channels that do not mix.""",
    _in_layouts("NWC", "WIO"),
)


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


conv2d_nhwc = variant(
    conv2d_nchw,
    "conv2d_nhwc",
    """A convolution of ``(batch, height, width, channel)``, by a kernel in the layout HWIO.""",
    _in_layouts("NHWC", "HWIO"),
)


conv2d_hwcn = variant(
    conv2d_nchw,
    "conv2d_hwcn",
    """A convolution of ``(height, width, channel, batch)``, by a kernel in the layout HWIO.""",
    _in_layouts("HWCN", "HWIO"),
)


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


group_conv2d_nhwc = variant(
    group_conv2d_nchw,
    "group_conv2d_nhwc",
    """`conv2d_nhwc` of groups of channels that do not mix.""",
    _in_layouts("NHWC", "HWIO"),
)


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


conv3d_ndhwc = variant(
    conv3d_ncdhw,
    "conv3d_ndhwc",
    """`conv3d_ncdhw` with the channels last, by a kernel with the filters last.""",
    _in_layouts("NDHWC", "DHWIO"),
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
        padding: elements added around the images; see `conv2d_nchw`.
        dilation: the distances of the elements of a window; one number, or two.
        out_dtype: dtype of the accumulation; by default that of `Input`.
    """
    return _depthwise(
        "depthwise_conv2d_nchw", Input, Filter, stride, padding, dilation, out_dtype,
        "NCHW", "CMHW",
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


depthwise_conv2d_nhwc = variant(
    depthwise_conv2d_nchw,
    "depthwise_conv2d_nhwc",
    """The same with channels last, by a kernel ``(height, width, channel, multiplier)``.""",
    functools.partial(_depthwise, layout="NHWC", kernel_layout="HWCM"),
)


def conv2d_NCHWc(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    layout: str = "NCHWc",
    out_layout: str = "NCHWc",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution of ``(batch, block, height, width, channel of a block)``.

    Args:
        data: the images.
        kernel: ``(output block, input block, height, width, input channel, output channel)``.
        stride: how far a window moves; one number, or two.
        padding: elements added around the images; see `conv2d_nchw`.
        dilation: the distances of the elements of a window; one number, or two.
        layout: ``"NCHWc"``, perhaps with the extent of a block: ``"NCHW16c"``.
        out_layout: that of the result, likewise.
        out_dtype: dtype of the accumulation; by default that of `data`.
    """
    owner = "conv2d_NCHWc"
    for name, value in (("layout", layout), ("out_layout", out_layout)):
        if not re.fullmatch(r"NCHW\d*c", value):
            raise ArgumentValueError(
                f'{owner}: `{name}` is "NCHWc" or like "NCHW16c", got {value!r}'
            )
    require_rank(owner, "data", data, "NCHWc")
    require_rank(owner, "kernel", kernel, "OIHWio")
    blocks, inner = data.shape[1], data.shape[4]
    filters, input_blocks, *window, input_channels, filter_block = kernel.shape
    require_equal(owner, "the blocks of channels", blocks, input_blocks)
    require_equal(owner, "the channels of a block", inner, input_channels)
    steps = per_dimension(owner, "stride", stride, 2)
    apart = per_dimension(owner, "dilation", dilation, 2)
    padded = pad_spatial(data, (2, 3), padding_of(owner, padding, window, apart))
    height, width = (
        places(owner, padded.shape[axis], reach(extent, distance), step)
        for axis, extent, distance, step in zip((2, 3), window, apart, steps, strict=True)
    )
    dtype = DType(out_dtype) if out_dtype else data.dtype
    axes = [
        te.reduce_axis((0, extent), name)
        for extent, name in zip((blocks, *window, inner), ("rc", "ry", "rx", "ri"), strict=True)
    ]
    block, ry, rx, ri = (axis.var for axis in axes)

    def element(n: Any, o: Any, y: Any, x: Any, c: Any) -> Any:
        pixel = padded(n, block, y * steps[0] + ry * apart[0], x * steps[1] + rx * apart[1], ri)
        weight = kernel(o, block, ry, rx, ri, c)
        return te.sum(cast(dtype, pixel) * cast(dtype, weight), axis=axes)

    shape = (data.shape[0], filters, height, width, filter_block)
    result = te.compute(shape, element, owner, "conv2d_NCHWc")
    return or_neutral(result, [blocks, *window, inner])
