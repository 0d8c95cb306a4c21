"""Transposed convolutions: each element of the input is spread over a window of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_divisible, require_rank, windows_times
from tilewright.topi.nn.window import (
    constant,
    padding_of,
    per_dimension,
    reach,
    require_equal,
    simplified,
    spatial_axes,
)


def conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any = 0,
) -> Tensor:
    """The transposed convolution of ``(batch, channel, width)``, by ``(channel, filter, width)``.

    Args:
        data: the sequences.
        kernel: the weights.
        stride: how far apart the windows are that elements are spread over.
        padding: what is cut off of the result: one number, or ``(before, after)``.
        out_dtype: in which products are added; None for that of `data`.
        output_padding: what is added to the end of the result.
    """
    return transposed_convolution(
        "conv1d_transpose_ncw", data, kernel, stride, padding, 1, output_padding, 1, out_dtype,
        data_layout="NCW", kernel_layout="IOW",
    )  # fmt: skip


def conv2d_transpose_nchw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    strides: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any = 0,
) -> Tensor:
    """`conv1d_transpose_ncw` of images, by ``(channel, filter, height, width)``."""
    return group_conv2d_transpose_nchw(
        Input, Filter, strides, padding, out_dtype, output_padding, 1
    )


def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any = 0,
    groups: int = 1,
) -> Tensor:
    """`conv2d_transpose_nchw` of groups of channels that do not mix."""
    return transposed_convolution(
        "conv2d_transpose_nchw", data, kernel, stride, padding, 1, output_padding, groups,
        out_dtype, data_layout="NCHW", kernel_layout="IOHW",
    )  # fmt: skip


def conv3d_transpose_ncdhw(
    Input: Tensor,  # noqa: N803
    Filter: Tensor,  # noqa: N803
    strides: Any,
    padding: Any,
    out_dtype: str | None,
    output_padding: Any = 0,
) -> Tensor:
    """`conv1d_transpose_ncw` of volumes, by ``(channel, filter, depth, height, width)``."""
    return transposed_convolution(
        "conv3d_transpose_ncdhw", Input, Filter, strides, padding, 1, output_padding, 1, out_dtype,
        data_layout="NCDHW", kernel_layout="IODHW",
    )  # fmt: skip


def transposed_convolution(
    owner: str,
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    output_padding: Any,
    groups: int,
    out_dtype: str | None,
    *,
    data_layout: str,
    kernel_layout: str,
) -> Tensor:
    """A transposed convolution in any layout.

    It is the convolution, by the kernel turned around, of the images with zeros between their
    elements and around them.

    Args:
        owner: the operator, for messages, and the name of the result.
        data: the images.
        kernel: the weights; ``O`` of its layout are the output channels of one group.
        strides: how far apart the windows are that elements are spread over.
        padding: what is cut off of the result.
        dilation: the distances of the elements of a window.
        output_padding: what is added to the end of the result.
        groups: into how many parts, which do not mix, the channels are divided.
        out_dtype: in which products are added; by default that of `data`.
        data_layout: such as ``"NCHW"``.
        kernel_layout: such as ``"IOHW"``.
    """
    require_rank(owner, "data", data, data_layout)
    require_rank(owner, "kernel", kernel, kernel_layout)
    axes, kernel_axes = spatial_axes(data_layout), spatial_axes(kernel_layout)
    apart = per_dimension(owner, "dilation", dilation, len(axes))
    window = [kernel.shape[axis] for axis in kernel_axes]
    inputs, outputs = (kernel.shape[kernel_layout.index(letter)] for letter in "IO")
    require_equal(owner, "the channels", data.shape[data_layout.index("C")], inputs)
    require_divisible(owner, "input", inputs, groups)
    depth = simplified(floordiv(inputs, groups))
    spread = _spread(owner, data, axes, window, strides, padding, apart, output_padding)

    def weight(group: Any, filter: Any, step: Any, place: Sequence[Any]) -> Any:
        turned = [extent - 1 - p for p, extent in zip(place, window, strict=True)]
        index = {"O": filter, "I": simplified(group * depth + step)}
        index.update(zip((kernel_layout[axis] for axis in kernel_axes), turned, strict=True))
        return kernel(*(index[letter] for letter in kernel_layout))

    return windows_times(
        owner, spread, window, (1,) * len(axes), apart, weight, out_dtype,
        groups=as_expr(groups, outputs.dtype), filters=outputs, depth=depth, layout=data_layout,
    )  # fmt: skip


def spread_extent(
    extent: Any, window: Any, stride: int, dilation: int, cut: Any, extra: Any
) -> Expr:
    """The extent of a transposed convolution.

    Args:
        extent: that of the input.
        window: that of the kernel.
        stride: how far apart the windows are.
        dilation: the distance of the elements of a window.
        cut: what is cut off at both ends together.
        extra: what is added to the end.
    """
    return simplified((extent - 1) * stride + reach(window, dilation) - cut + extra)


def _spread(
    owner: str,
    data: Tensor,
    axes: Sequence[int],
    window: Sequence[Expr],
    strides: Any,
    padding: Any,
    dilation: Sequence[int],
    output_padding: Any,
) -> Tensor:
    """The images with zeros between the elements and around them."""
    steps = per_dimension(owner, "strides", strides, len(axes))
    cut = padding_of(owner, padding, window, dilation)
    extra = padding_of(owner, output_padding, window, dilation).after
    if any(
        (constant(amount) or 0) >= max(step, apart)
        for amount, step, apart in zip(extra, steps, dilation, strict=True)
    ):
        raise ArgumentValueError(
            f"{owner}: `output_padding` is less than the stride or the dilation, got "
            f"{output_padding!r}"
        )
    shape = list(data.shape)
    first: list[Expr] = []
    for n, axis in enumerate(axes):
        first.append(simplified(reach(window[n], dilation[n]) - 1 - cut.before[n]))
        whole = spread_extent(
            data.shape[axis], window[n], steps[n], dilation[n], cut.before[n] + cut.after[n],
            extra[n],
        )  # fmt: skip
        shape[axis] = simplified(whole + reach(window[n], dilation[n]) - 1)

    def element(*output: Any) -> Any:
        index, inside = list(output), []
        for axis, step, start in zip(axes, steps, first, strict=True):
            offset = output[axis] - start
            if step != 1:
                inside.append((offset % step).equal(0))
            index[axis] = floordiv(offset, step)
            inside += [offset >= 0, index[axis] < data.shape[axis]]
        return te.if_then_else(te.all(*inside), data(*index), as_expr(0, data.dtype))

    return te.compute(shape, element, "data_spread", "injective,pad")
