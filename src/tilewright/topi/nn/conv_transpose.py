"""Transposed convolutions: each element of the input is spread over a window of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import floordiv, floormod
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

    Where elements are spread `stride` apart, every so many results have the same part of the
    kernel: each of these phases is a convolution of the images by that part, turned around::

        stride 2, kernel (a, b, c):   phase 0 has c a,  phase 1 has 0 b

    Along a dimension with a stride and a dilation all results are one phase, of the images with
    zeros between their elements.

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
    steps = per_dimension(owner, "strides", strides, len(axes))
    apart = per_dimension(owner, "dilation", dilation, len(axes))
    window = [kernel.shape[axis] for axis in kernel_axes]
    inputs, outputs = (kernel.shape[kernel_layout.index(letter)] for letter in "IO")
    require_equal(owner, "the channels", data.shape[data_layout.index("C")], inputs)
    require_divisible(owner, "input", inputs, groups)
    depth = simplified(floordiv(inputs, groups))
    cut = padding_of(owner, padding, window, apart)
    extra = padding_of(owner, output_padding, window, apart).after
    _require_less(owner, extra, steps, apart, output_padding)
    along = [
        _along(data.shape[axis], *options)
        for axis, *options in zip(
            axes, window, steps, apart, cut.before, cut.after, extra, strict=True
        )
    ]
    phases = math.prod(item.phases for item in along)
    filters = simplified(outputs * phases)

    def part(group: Any, filter: Any, step: Any, *place: Any) -> Any:
        """The kernel of a phase."""
        index = {"O": floormod(filter, outputs), "I": simplified(group * depth + step)}
        phase, inside = floordiv(filter, outputs), []
        for n in reversed(range(len(along))):
            item = along[n]
            at = (item.taps - 1 - place[n]) * item.phases + floormod(phase, item.phases)
            phase = floordiv(phase, item.phases)
            index[kernel_layout[kernel_axes[n]]] = at
            if constant(simplified(window[n] % item.phases)) != 0:
                inside.append(at < window[n])
        value = kernel(*(index[letter] for letter in kernel_layout))
        return te.if_then_else(te.all(*inside), value, 0) if inside else value

    shape = (as_expr(groups, outputs.dtype), filters, depth, *(item.taps for item in along))
    parts = te.compute(shape, part, "T_kernel", "injective") if phases > 1 else None

    def weight(group: Any, filter: Any, step: Any, place: Sequence[Any]) -> Any:
        if parts is None:
            return part(group, filter, step, *place)
        return parts(group, filter, step, *place)

    total = windows_times(
        owner, _spread(data, axes, along), [item.taps for item in along], (1,) * len(axes),
        [item.dilation for item in along], weight, out_dtype, groups=shape[0], filters=filters,
        depth=depth, layout=data_layout,
    )  # fmt: skip
    return total if phases == 1 else _interleaved(total, axes, along, outputs, data_layout)


class _Along(NamedTuple):
    """A transposed convolution along one dimension.

    Attributes:
        phases: how many phases there are.
        taps: how many elements of the kernel a phase has.
        dilation: their distances.
        between: the distances of the elements of the images.
        first: which element of a phase the first result is, counted from the first product.
        offset: which phase the first result has.
        start: which element of the images, with zeros between them, the first product has.
        extent: how many elements of each phase are needed.
        size: how many results there are.
    """

    phases: int
    taps: Expr
    dilation: int
    between: int
    first: Expr
    offset: Expr
    start: Expr
    extent: Expr
    size: Expr


def _along(
    extent: Expr, window: Expr, stride: int, dilation: int, before: Expr, after: Expr, extra: Expr
) -> _Along:
    size = spread_extent(extent, window, stride, dilation, before + after, extra)
    phases = stride if dilation == 1 else 1
    taps = simplified(floordiv(window + (phases - 1), phases))
    first = simplified(floordiv(before, phases))
    last = floordiv(before + size - 1, phases)
    return _Along(
        phases, taps, dilation, stride // phases, first, simplified(floormod(before, phases)),
        simplified(first - (taps - 1) * dilation), simplified(last - first + 1), size,
    )  # fmt: skip


def _require_less(
    owner: str, extra: Sequence[Expr], steps: Sequence[int], apart: Sequence[int], given: Any
) -> None:
    if any(
        (constant(amount) or 0) >= max(step, distance)
        for amount, step, distance in zip(extra, steps, apart, strict=True)
    ):
        raise ArgumentValueError(
            f"{owner}: `output_padding` is less than the stride or the dilation, got {given!r}"
        )


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


def _spread(data: Tensor, axes: Sequence[int], along: Sequence[_Along]) -> Tensor:
    """What the products of all phases read: the images with zeros around, and perhaps between."""
    shape = list(data.shape)
    for axis, item in zip(axes, along, strict=True):
        shape[axis] = simplified(item.extent + (item.taps - 1) * item.dilation)

    def element(*output: Any) -> Any:
        index, inside = list(output), []
        for axis, item in zip(axes, along, strict=True):
            place = simplified(output[axis] + item.start)
            if item.between != 1:
                inside.append((place % item.between).equal(0))
            index[axis] = floordiv(place, item.between)
            inside += [place >= 0, index[axis] < data.shape[axis]]
        return te.if_then_else(te.all(*inside), data(*index), as_expr(0, data.dtype))

    return te.compute(shape, element, "data_spread", "injective,pad")


def _interleaved(
    total: Tensor, axes: Sequence[int], along: Sequence[_Along], outputs: Expr, layout: str
) -> Tensor:
    """The results of all phases in turn; `total` has them as channels of each group."""
    shape = list(total.shape)
    channel = layout.index("C")
    phases = math.prod(item.phases for item in along)
    shape[channel] = simplified(floordiv(shape[channel], phases))
    for axis, item in zip(axes, along, strict=True):
        shape[axis] = item.size

    def element(*output: Any) -> Any:
        index = list(output)
        phase: Any = as_expr(0)
        for axis, item in zip(axes, along, strict=True):
            place = output[axis] + item.offset
            index[axis] = floordiv(place, item.phases)
            phase = phase * item.phases + floormod(place, item.phases)
        group, filter = floordiv(output[channel], outputs), floormod(output[channel], outputs)
        index[channel] = (group * phases + phase) * outputs + filter
        return total(*index)

    return te.compute(shape, element, f"{total.name}_interleaved", "injective")
