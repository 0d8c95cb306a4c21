"""Convolutions in any number of dimensions and any layout, which the named operators are made of.

A layout is a word with a letter for each dimension: ``N`` images, ``C`` channels, and ``D``, ``H``
and ``W`` for depth, height and width in arrays; ``O`` output and ``I`` input channels in kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright import te
from tilewright.error import ShapeError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.te.tensor import extent_text
from tilewright.topi.nn.pad import pad
from tilewright.topi.nn.window import (
    Padding,
    constant,
    padding_of,
    per_dimension,
    places,
    reach,
    require_equal,
    simplified,
    spatial_axes,
)
from tilewright.topi.operands import or_neutral


def convolution(
    owner: str,
    data: Tensor,
    kernel: Tensor,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int = 1,
    out_dtype: str | None = None,
    *,
    data_layout: str,
    kernel_layout: str,
) -> Tensor:
    """The sum over windows of `data`, times `kernel`.

    Args:
        owner: the operator, for messages, and the name of the result.
        data: the images.
        kernel: the weights.
        strides: how far a window moves; one number, or one for each spatial dimension.
        padding: elements added around the images; see `tilewright.topi.nn.window.padding_of`.
        dilation: the distances of the elements of a window.
        groups: into how many parts, which do not mix, the channels are divided.
        out_dtype: dtype of the accumulation; by default that of `data`.
        data_layout: such as ``"NCHW"``.
        kernel_layout: such as ``"OIHW"``.
    """
    require_rank(owner, "data", data, data_layout)
    require_rank(owner, "kernel", kernel, kernel_layout)
    axes, kernel_axes = spatial_axes(data_layout), spatial_axes(kernel_layout)
    steps = per_dimension(owner, "strides", strides, len(axes))
    apart = per_dimension(owner, "dilation", dilation, len(axes))
    window = [kernel.shape[axis] for axis in kernel_axes]
    amounts = padding_of(owner, padding, window, apart)
    padded = pad_spatial(data, axes, amounts)
    channels = data.shape[data_layout.index("C")]
    filters = kernel.shape[kernel_layout.index("O")]
    depth = kernel.shape[kernel_layout.index("I")]
    require_groups(owner, channels, filters, depth, groups)

    part = simplified(floordiv(filters, groups))

    def weight(group: Any, filter: Any, step: Any, place: Sequence[Any]) -> Any:
        index = {"O": simplified(group * part + filter), "I": step}
        index.update(zip((kernel_layout[axis] for axis in kernel_axes), place, strict=True))
        return kernel(*(index[letter] for letter in kernel_layout))

    return windows_times(
        owner, padded, window, steps, apart, weight, out_dtype,
        groups=as_expr(groups, filters.dtype), filters=part, depth=depth, layout=data_layout,
    )  # fmt: skip


def windows_times(
    owner: str,
    padded: Tensor,
    window: Sequence[Expr],
    strides: Sequence[int],
    dilation: Sequence[int],
    weight: Callable[[Any, Any, Any, Sequence[Any]], Any],
    out_dtype: str | None,
    *,
    groups: Expr,
    filters: Expr,
    depth: Expr,
    layout: str,
    starts: Sequence[Any] | None = None,
) -> Tensor:
    """The sums of products that all convolutions are.

    `weight` gives the factor of a group, an output channel of the group, an input channel of the
    group, and a place in the window. A group has `depth` channels of the images and `filters` of
    the result. The first window is at `starts`, by default at the first element.
    """
    axes = spatial_axes(layout)
    starts = [0] * len(axes) if starts is None else starts
    dtype = DType(out_dtype) if out_dtype else padded.dtype
    shape = list(padded.shape)
    at = layout.index("C")
    shape[at] = simplified(groups * filters)
    reaches = [reach(extent, apart) for extent, apart in zip(window, dilation, strict=True)]
    for axis, start, extent, stride in zip(axes, starts, reaches, strides, strict=True):
        shape[axis] = places(owner, simplified(padded.shape[axis] - start), extent, stride)
    channels = [] if constant(depth) == 1 else [te.reduce_axis((0, depth), "rc")]
    place = [
        te.reduce_axis((0, extent), f"r{layout[axis].lower()}")
        for axis, extent in zip(axes, window, strict=True)
    ]

    def product(output: Sequence[Any], group: Any, filter: Any) -> Any:
        step = channels[0].var if channels else as_expr(0, depth.dtype)
        index = list(output)
        index[at] = simplified(group * depth + step)
        options = zip(axes, place, window, starts, strides, dilation, strict=True)
        for axis, inner, extent, start, stride, apart in options:
            inside = 0 if constant(extent) == 1 else inner.var * apart
            index[axis] = output[axis] * stride + inside + start
        factor = weight(group, filter, step, [inner.var for inner in place])
        steps = [*channels, *place] if at < axes[0] else [*place, *channels]
        return te.sum(cast(dtype, padded(*index)) * cast(dtype, factor), axis=steps)

    zero = as_expr(0, filters.dtype)
    names = [letter.lower() for letter in layout]
    if constant(groups) == 1 or constant(filters) == 1:
        names[at] = "f"

        def element(*output: Any) -> Any:
            channel = output[at]
            return product(output, *((zero, channel) if constant(groups) == 1 else (channel, zero)))

        total = te.compute(shape, element, owner, owner, varargs_names=names)
        return or_neutral(total, [depth, *window])

    # The groups are a dimension of their own: each is a convolution with tiles like any other.
    apart_shape = [*shape[:at], groups, filters, *shape[at + 1 :]]
    names[at : at + 1] = ["g", "f"]

    def element_of_group(*output: Any) -> Any:
        group, filter = output[at : at + 2]
        return product([*output[:at], None, *output[at + 2 :]], group, filter)

    total = te.compute(apart_shape, element_of_group, owner, owner, varargs_names=names)
    total = or_neutral(total, [depth, *window])

    def merged(*output: Any) -> Any:
        group, filter = floordiv(output[at], filters), floormod(output[at], filters)
        return total(*output[:at], group, filter, *output[at + 1 :])

    return te.compute(shape, merged, f"{owner}_merged", "injective")


def pad_spatial(
    data: Tensor, axes: Sequence[int], amounts: Padding, value: Any = 0, name: str = "pad_temp"
) -> Tensor:
    """`data` with `value` around it in the dimensions `axes`; `data` itself if nothing is added."""
    if amounts.is_zero:
        return data
    before, after = [[as_expr(0)] * data.ndim for _ in range(2)]
    for axis, low, high in zip(axes, amounts.before, amounts.after, strict=True):
        before[axis], after[axis] = low, high
    return pad(data, before, after, value, name)


def require_rank(owner: str, name: str, tensor: Tensor, layout: str) -> None:
    """Require that `tensor` has as many dimensions as `layout`.

    Raises:
        ShapeError: if not.
    """
    if tensor.ndim != len(layout):
        raise ShapeError(
            f"{owner}: `{name}` has the layout {layout}, so {len(layout)} dimensions, not "
            f"{tensor.ndim}"
        )


def require_groups(owner: str, channels: Expr, filters: Expr, depth: Expr, groups: int) -> None:
    """Require that `groups` divides the channels, and that the kernel has those of a group.

    Raises:
        ShapeError: if not.
    """
    for name, extent in (("input", channels), ("output", filters)):
        require_divisible(owner, name, extent, groups)
    require_equal(
        owner, f"the channels of `data`, in {groups} groups, and those of the kernel",
        simplified(floordiv(channels, groups)), depth,
    )  # fmt: skip


def require_divisible(owner: str, name: str, channels: Expr, groups: int) -> None:
    """Require that `groups` divides the channels.

    Raises:
        ShapeError: if they are known not to.
    """
    if constant(simplified(floormod(channels, groups))) not in (None, 0):
        raise ShapeError(
            f"{owner}: {groups} groups do not divide the {extent_text(channels)} {name} channels"
        )
