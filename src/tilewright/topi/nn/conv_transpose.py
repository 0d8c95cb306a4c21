"""Transposed convolutions: each element of the input is spread over a window of the result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_divisible, require_rank, windows_times
from tilewright.topi.nn.transposed_phases import (
    Phases,
    interleaved,
    padded,
    phases_of,
    transposed_along,
)
from tilewright.topi.nn.window import (
    constant,
    padding_of,
    per_dimension,
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
        padding: elements cut off the result: one number, or ``(before, after)``.
        out_dtype: dtype of the accumulation; None for that of `data`.
        output_padding: number of elements added to the end of the result.
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

    Where elements are spread `stride` apart, every `stride`-th result has the same part of the
    kernel: each of these phases is a convolution of the images by that part, turned around::

        stride 2, kernel (a, b, c):   phase 0 has c a,  phase 1 has b

    Phases with the same number of taps are the channels of one convolution. No tap is added to
    make more of them the same: it would multiply elements that may be infinite by 0. Only the
    zeros around the images are multiplied, as in all convolutions.

    Results that no product reaches, between windows with a common divisor of their stride and
    their dilation, are 0.

    Args:
        owner: the operator, for messages, and the name of the result.
        data: the images.
        kernel: the weights; ``O`` of its layout are the output channels of one group.
        strides: how far apart the windows are that elements are spread over.
        padding: elements cut off the result.
        dilation: the distances of the elements of a window.
        output_padding: number of elements added to the end of the result.
        groups: into how many parts, which do not mix, the channels are divided.
        out_dtype: dtype of the accumulation; by default that of `data`.
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
        transposed_along(data.shape[axis], *options)
        for axis, *options in zip(
            axes, window, steps, apart, cut.before, cut.after, extra, strict=True
        )
    ]

    def convolution(phases: Sequence[Phases]) -> Tensor | None:
        """The results of some phases, as channels of each group; None if they have no taps."""
        taps = [item.taps for item in phases]
        if any(constant(t) == 0 != constant(a.taps) for t, a in zip(taps, along, strict=True)):
            return None
        filters = simplified(outputs * math.prod(item.number for item in phases))

        def part(group: Any, filter: Any, step: Any, *place: Any) -> Any:
            """The kernel of a phase."""
            index = {"O": floormod(filter, outputs), "I": simplified(group * depth + step)}
            phase, inside = floordiv(filter, outputs), []
            for n in reversed(range(len(along))):
                first, count, extent = phases[n]
                at = (extent - 1 - place[n]) * along[n].phases + floormod(phase, count) + first
                phase = floordiv(phase, count)
                index[kernel_layout[kernel_axes[n]]] = at
                if constant(simplified(window[n] % along[n].phases)) is None:
                    inside.append(at < window[n])
            value = kernel(*(index[letter] for letter in kernel_layout))
            return te.if_then_else(te.all(*inside), value, 0) if inside else value

        shape = (as_expr(groups, outputs.dtype), filters, depth, *taps)
        is_whole = all(item.number == 1 for item in phases)
        parts = part if is_whole else te.compute(shape, part, "T_kernel", "injective")

        def weight(group: Any, filter: Any, step: Any, place: Sequence[Any]) -> Any:
            return parts(group, filter, step, *place)

        starts = [
            simplified((item.taps - extent) * item.dilation)
            for item, extent in zip(along, taps, strict=True)
        ]
        return windows_times(
            owner, images, taps, (1,) * len(axes), [item.dilation for item in along], weight,
            out_dtype, groups=shape[0], filters=filters, depth=depth, layout=data_layout,
            starts=starts,
        )  # fmt: skip

    images = padded(data, axes, along)
    kinds = [phases_of(item, extent) for item, extent in zip(along, window, strict=True)]
    totals = {kind: convolution(kind) for kind in itertools.product(*kinds)}
    if all(step == 1 for step in steps):
        (total,) = totals.values()
        assert total is not None
        return total
    return interleaved(totals, kinds, axes, along, outputs, data_layout)


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
