"""Maxima and averages of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright import te, tir
from tilewright.error import ArgumentValueError, require_one_of
from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.tir.expr import IterVar
from tilewright.topi.nn.convolution import pad_spatial, require_rank
from tilewright.topi.nn.window import (
    Padding,
    constant,
    padding_of,
    per_dimension,
    places,
    reach,
    simplified,
    spatial_axes,
)
from tilewright.topi.operands import accumulator, variant
from tilewright.topi.utils import ceil_div


def pool2d(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
    divisor: int | None = None,
) -> Tensor:
    """The maxima or averages of windows of images.

    Args:
        data: the images.
        kernel: the extents of a window.
        stride: how far it moves.
        dilation: the distances of its elements.
        padding: elements added around the images: one number, two, or ``(top, left, bottom,
            right)``. No maximum is an element that was added.
        pool_type: ``"max"`` or ``"avg"``.
        ceil_mode: whether windows may stick out at the end; each begins in the image or in what
            was added before it.
        layout: of the images.
        count_include_pad: whether averages count the elements that were added.
        divisor: what averages divide each sum by in place of the number of its elements.
    """
    return _pool(
        "pool2d", data, kernel, stride, dilation, padding, pool_type, ceil_mode, layout,
        count_include_pad, divisor,
    )  # fmt: skip


class Windows(NamedTuple):
    """Windows along one dimension.

    Attributes:
        size: elements of a window.
        stride: how far it moves.
        dilation: the distance of its elements.
        before: how many elements are added before the dimension.
        after: how many are added after it, as the caller says.
        number: how many windows there are.
        beyond: how many more elements the last window needs.
    """

    size: int
    stride: int
    dilation: int
    before: Expr
    after: Expr
    number: Expr
    beyond: Expr

    def is_whole(self, include_padding: bool) -> bool:
        """Whether each average counts all elements of its window."""
        outside = [self.beyond] if include_padding else [self.before, self.after, self.beyond]
        return all(constant(amount) == 0 for amount in outside)

    def counted(self, place: Any, extent: Expr, include_padding: bool) -> Expr:
        """How many elements of the window at `place` an average counts."""
        start = place * self.stride - self.before
        end = extent + self.after if include_padding else extent
        last = ceil_div(end - start, self.dilation)
        first = as_expr(0) if include_padding else maximum(ceil_div(-start, self.dilation), 0)
        return simplified(minimum(last, self.size) - first)


def _pool(
    owner: str,
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool,
    layout: str,
    count_include_pad: bool,
    divisor: int | None = None,
) -> Tensor:
    require_one_of(f"{owner}: `pool_type`", pool_type, ("max", "avg"))
    require_rank(owner, "data", data, layout)
    axes = spatial_axes(layout)
    windows = _all_windows(
        owner, [data.shape[axis] for axis in axes], kernel, stride, dilation, padding, ceil_mode
    )
    if pool_type == "max":
        return _reduced(data, axes, windows, layout, "pool_max")
    wide = INT32 if data.dtype.is_integral and data.dtype.bits < 32 else accumulator(data.dtype)
    total = _reduced(data, axes, windows, layout, "pool_sum", wide)
    is_plain = all(w.is_whole(count_include_pad) for w in windows)

    def average(*place: Any) -> Any:
        elements: Any = divisor
        if divisor is None and is_plain:
            elements = math.prod([w.size for w in windows])
        elif divisor is None:
            elements = math.prod(
                [
                    w.counted(place[axis], data.shape[axis], count_include_pad)
                    for axis, w in zip(axes, windows, strict=True)
                ]
            )
        value = total(*place)
        if wide.is_integral:
            return cast(data.dtype, tir.truncdiv(value, cast(wide, as_expr(elements))))
        return cast(data.dtype, value / cast(wide, as_expr(elements)))

    return te.compute(total.shape, average, "pool_avg", "elemwise")


pool1d = variant(
    pool2d,
    "pool1d",
    """The maxima or averages of windows of sequences; see `pool2d`.""",
    _pool,
    layout="NCW",
)


pool3d = variant(
    pool2d,
    "pool3d",
    """The maxima or averages of windows of volumes; see `pool2d`.""",
    _pool,
    layout="NCDHW",
)


def places_of_maxima(
    data: Tensor,
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    ceil_mode: bool = False,
    layout: str = "NCHW",
) -> Tensor:
    """Where the first of the largest elements of each window is, or the first NaN.

    The result has the dtype int64: row-major positions among the spatial elements of an image. See
    `pool2d` for the arguments; the layout says how many spatial dimensions there are.
    """
    owner = "places_of_maxima"
    require_rank(owner, "data", data, layout)
    axes = spatial_axes(layout)
    extents = [data.shape[axis] for axis in axes]
    windows = _all_windows(owner, extents, kernel, stride, dilation, padding, ceil_mode)
    best = _reduced(data, axes, windows, layout, "pool_max")
    steps = _steps(data, axes, windows, layout)
    nowhere = te.max_value("int64")

    def element(*place: Any) -> Expr:
        index = list(place)
        inside: Expr = as_expr(True)
        position: Expr = as_expr(0, "int64")
        for axis, extent, w, step in zip(axes, extents, windows, steps, strict=True):
            at = place[axis] * w.stride + step.var * w.dilation - w.before
            inside = tir.all(inside, at >= 0, at < extent)
            index[axis] = minimum(maximum(at, 0), extent - 1)
            position = position * cast("int64", extent) + cast("int64", at)
        value = data(*index)
        found = value.equal(best(*place))
        if data.dtype.is_float:  # the maximum is NaN where there is a NaN
            found = tir.any(found, te.isnan(value))
        return te.min(tir.Select(tir.all(inside, found), position, nowhere), axis=steps)

    names = [letter.lower() for letter in layout]
    return te.compute(best.shape, element, owner, "comm_reduce_idx", varargs_names=names)


def pooled_extents(
    owner: str,
    extents: Sequence[Expr],
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    ceil_mode: bool,
) -> list[Expr]:
    """How many windows there are along each spatial dimension; see `pool2d` for the arguments.

    Raises:
        ShapeError: if a window does not fit.
    """
    windows = _all_windows(owner, extents, kernel, stride, dilation, padding, ceil_mode)
    return [w.number for w in windows]


def _all_windows(
    owner: str,
    extents: Sequence[Expr],
    kernel: Any,
    stride: Any,
    dilation: Any,
    padding: Any,
    ceil_mode: bool,
) -> list[Windows]:
    sizes, strides, apart = (
        per_dimension(owner, name, value, len(extents))
        for name, value in (("kernel", kernel), ("stride", stride), ("dilation", dilation))
    )
    amounts = padding_of(owner, padding, [as_expr(size) for size in sizes], apart)
    _require_less_padding(owner, amounts, sizes, apart)
    return [
        _windows(owner, extent, size, step, distance, low, high, ceil_mode)
        for extent, size, step, distance, low, high in zip(
            extents, sizes, strides, apart, *amounts, strict=True
        )
    ]


def _windows(
    owner: str,
    extent: Expr,
    size: int,
    stride: int,
    dilation: int,
    before: Expr,
    after: Expr,
    ceil_mode: bool,
) -> Windows:
    span = reach(size, dilation)
    if not ceil_mode:
        count = places(owner, extent + before + after, span, stride)
        return Windows(size, stride, dilation, before, after, count, as_expr(0))
    # One more window for the remainder, unless it begins behind the image.
    some = places(owner, extent + before + after + (stride - 1), span, stride)
    count = simplified(minimum(some, ceil_div(extent + before, stride)))
    beyond = simplified(maximum((count - 1) * stride + span - extent - before - after, 0))
    return Windows(size, stride, dilation, before, after, count, beyond)


def _reduced(
    data: Tensor,
    axes: Sequence[int],
    windows: Sequence[Windows],
    layout: str,
    tag: str,
    dtype: DType | None = None,
) -> Tensor:
    """The maximum of each window, or its sum in `dtype`."""
    is_max = dtype is None
    neutral = te.min_value(data.dtype) if is_max else as_expr(0, data.dtype)
    if is_max and data.dtype.is_float:
        neutral = -te.infinity(data.dtype)
    amounts = Padding(
        tuple(w.before for w in windows), tuple(simplified(w.after + w.beyond) for w in windows)
    )
    padded = pad_spatial(data, axes, amounts, neutral)
    shape = list(data.shape)
    for axis, w in zip(axes, windows, strict=True):
        shape[axis] = w.number
    inner = _steps(data, axes, windows, layout)

    def element(*place: Any) -> Any:
        index = list(place)
        for axis, w, step in zip(axes, windows, inner, strict=True):
            index[axis] = place[axis] * w.stride + step.var * w.dilation
        value = padded(*index)
        return te.max(value, axis=inner) if dtype is None else te.sum(cast(dtype, value), inner)

    names = [letter.lower() for letter in layout]
    return te.compute(shape, element, tag, tag, varargs_names=names)


def _steps(
    data: Tensor, axes: Sequence[int], windows: Sequence[Windows], layout: str
) -> list[IterVar]:
    """The loops over the elements of a window."""
    return [
        te.reduce_axis((0, as_expr(w.size, data.shape[axis].dtype)), f"r{layout[axis].lower()}")
        for axis, w in zip(axes, windows, strict=True)
    ]


def _require_less_padding(
    owner: str, amounts: Padding, sizes: Sequence[int], dilation: Sequence[int]
) -> None:
    """Each window has an element of the image: else a maximum would be of nothing."""
    for low, high, size, apart in zip(*amounts, sizes, dilation, strict=True):
        most = max(constant(low) or 0, constant(high) or 0)
        if most > (size - 1) * apart:
            raise ArgumentValueError(
                f"{owner}: `padding` {most} is not less than a window of {size} elements spans"
            )
