"""Maxima and averages of windows whose number is given instead of their size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tilewright import te
from tilewright.error import require_one_of
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.tir.expr import IterVar
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import constant, per_dimension, simplified, spatial_axes
from tilewright.topi.operands import accumulator


def global_pool(data: Tensor, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The maximum or the average of each channel, with spatial dimensions of extent 1.

    Args:
        data: the images.
        pool_type: ``"max"`` or ``"avg"``.
        layout: of the images.
    """
    return _adaptive("global_pool", data, 1, pool_type, layout)


def adaptive_pool(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCHW") -> Tensor:
    """The maxima or averages of ``output_size`` windows, which cover the image evenly.

    Window ``i`` of ``n`` along a dimension of extent ``e`` has the elements from
    ``floor(i * e / n)`` up to ``ceil((i + 1) * e / n)``.

    Args:
        data: the images.
        output_size: how many windows; one number, or one for each spatial dimension.
        pool_type: ``"max"`` or ``"avg"``.
        layout: of the images.
    """
    return _adaptive("adaptive_pool", data, output_size, pool_type, layout)


def adaptive_pool1d(data: Tensor, output_size: Any, pool_type: str, layout: str = "NCW") -> Tensor:
    """`adaptive_pool` of sequences."""
    return _adaptive("adaptive_pool1d", data, output_size, pool_type, layout)


def adaptive_pool3d(
    data: Tensor, output_size: Any, pool_type: str, layout: str = "NCDHW"
) -> Tensor:
    """`adaptive_pool` of volumes."""
    return _adaptive("adaptive_pool3d", data, output_size, pool_type, layout)


def places_of_adaptive_maxima(data: Tensor, output_size: Any, layout: str = "NCHW") -> Tensor:
    """Where the first largest element of each window of `adaptive_pool` is, or the first NaN.

    The result has the dtype int64: row-major positions among the spatial elements of an image. The
    layout says how many spatial dimensions there are.
    """
    owner = "places_of_adaptive_maxima"
    best = _adaptive(owner, data, output_size, "max", layout)
    axes = spatial_axes(layout)
    counts = per_dimension(owner, "output_size", output_size, len(axes))
    windows = [_windows(data.shape[axis], n) for axis, n in zip(axes, counts, strict=True)]
    steps = _steps(axes, windows, layout)
    nowhere = te.max_value("int64")

    def element(*place: Any) -> Any:
        index = _element(axes, windows, steps, place)
        position: Expr = as_expr(0, "int64")
        for axis in axes:
            position = position * cast("int64", data.shape[axis]) + cast("int64", index[axis])
        value = data(*index)
        found = value.equal(best(*place))
        if data.dtype.is_float:  # the maximum is NaN where there is a NaN
            found = te.any(found, te.isnan(value))
        where = _inside(axes, windows, steps, place)
        return te.min(te.if_then_else(found, position, nowhere), axis=steps, where=where)

    names = [letter.lower() for letter in layout]
    return te.compute(best.shape, element, owner, "comm_reduce_idx", varargs_names=names)


class _Windows(NamedTuple):
    """Windows along one dimension: where each begins, its size, and the largest size."""

    start: Callable[[Any], Any]
    size: Callable[[Any], Any]
    largest: Expr
    are_equal: bool


def _windows(extent: Expr, count: int) -> _Windows:
    whole = simplified(floordiv(extent, count))
    if constant(simplified(extent % count)) == 0:
        return _Windows(lambda i: i * whole, lambda _: whole, whole, True)
    known = constant(extent)
    if known is not None:
        sizes = [-(-(i + 1) * known // count) - i * known // count for i in range(count)]
        largest = as_expr(max(sizes), extent.dtype)
    else:
        largest = simplified(floordiv(extent + count - 1, count) + 1)

    def start(i: Any) -> Any:
        return floordiv(i * extent, count)

    def size(i: Any) -> Any:
        return floordiv((i + 1) * extent + (count - 1), count) - start(i)

    return _Windows(start, size, largest, False)


def _adaptive(owner: str, data: Tensor, output_size: Any, pool_type: str, layout: str) -> Tensor:
    require_one_of(f"{owner}: `pool_type`", pool_type, ("max", "avg"))
    require_rank(owner, "data", data, layout)
    axes = spatial_axes(layout)
    counts = per_dimension(owner, "output_size", output_size, len(axes))
    windows = [_windows(data.shape[axis], n) for axis, n in zip(axes, counts, strict=True)]
    wide = accumulator(data.dtype) if pool_type == "avg" else data.dtype
    shape = list(data.shape)
    for axis, count in zip(axes, counts, strict=True):
        shape[axis] = as_expr(count, data.shape[axis].dtype)
    inner = _steps(axes, windows, layout)

    def reduced(*place: Any) -> Any:
        index = _element(axes, windows, inner, place)
        where = _inside(axes, windows, inner, place)
        reducer = te.max if pool_type == "max" else te.sum
        return reducer(cast(wide, data(*index)), axis=inner, where=where)

    names = [letter.lower() for letter in layout]
    tag = f"adaptive_pool_{'max' if pool_type == 'max' else 'sum'}"
    result = te.compute(shape, reduced, tag, tag, varargs_names=names)
    if pool_type == "max":
        return result

    def average(*place: Any) -> Any:
        count: Any = as_expr(1)
        for axis, window in zip(axes, windows, strict=True):
            count = count * window.size(place[axis])
        if wide.is_integral:
            return te.truncdiv(result(*place), cast(wide, count))
        return cast(data.dtype, result(*place) / cast(wide, count))

    return te.compute(shape, average, "adaptive_pool_avg", "elemwise")


def _steps(axes: Sequence[int], windows: Sequence[_Windows], layout: str) -> list[IterVar]:
    """The loops over the elements of a window."""
    return [
        te.reduce_axis((0, window.largest), f"r{layout[axis].lower()}")
        for axis, window in zip(axes, windows, strict=True)
    ]


def _element(
    axes: Sequence[int], windows: Sequence[_Windows], inner: Sequence[IterVar], place: Sequence[Any]
) -> list[Any]:
    """The index of the element of the window at `place` that the steps have come to."""
    index = list(place)
    for axis, window, step in zip(axes, windows, inner, strict=True):
        index[axis] = window.start(place[axis]) + step.var
    return index


def _inside(
    axes: Sequence[int],
    windows: Sequence[_Windows],
    inner: Sequence[IterVar],
    place: Sequence[Any],
) -> Any:
    """Whether a step is in the window at `place`; None where it is in all windows."""
    conditions = [
        step.var < window.size(place[axis])
        for axis, window, step in zip(axes, windows, inner, strict=True)
        if not window.are_equal
    ]
    return te.all(*conditions) if conditions else None
