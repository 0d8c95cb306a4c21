"""Normalisation: elements minus their mean, by their standard deviation.

The mean is subtracted before squares are added, so that the variance of numbers that are large and
close to each other is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import require_equal, simplified
from tilewright.topi.operands import accumulator, normalized_axes, normalized_axis, or_neutral

Scale = Callable[[Any, tuple[Any, ...]], Any]
"""From a normalised element and its place to the result."""


def layer_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor | None,
    axis: int | Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, the mean being that of `axis`.

    Args:
        data: the array.
        gamma: the factors, with the dimensions `axis`.
        beta: summand, likewise; None for none.
        axis: the dimensions of one mean.
        epsilon: keeps the divisor from 0.
    """
    axes = normalized_axes("layer_norm", axis, data.ndim)
    _require_parameters("layer_norm", data, axes, gamma, beta)

    def scale(value: Any, place: tuple[Any, ...]) -> Any:
        index = [place[a] for a in axes]
        return _scaled(value, gamma(*index), None if beta is None else beta(*index))

    return _normalised("T_layer_norm", data, axes, epsilon, scale)


def instance_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor | None,
    channel_axis: int,
    axis: int | Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """`layer_norm` with a factor for each channel.

    Args:
        data: the array.
        gamma: the factors of the channels.
        beta: summand; None for none.
        channel_axis: the dimension of channels.
        axis: the dimensions of one mean.
        epsilon: keeps the divisor from 0.
    """
    axes = normalized_axes("instance_norm", axis, data.ndim)
    channel = normalized_axis("instance_norm", channel_axis, data.ndim)
    _require_parameters("instance_norm", data, (channel,), gamma, beta)

    def scale(value: Any, place: tuple[Any, ...]) -> Any:
        index = place[channel]
        return _scaled(value, gamma(index), None if beta is None else beta(index))

    return _normalised("T_instance_norm", data, axes, epsilon, scale)


def group_norm(
    data: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    num_groups: int,
    channel_axis: int,
    axes: int | Sequence[int],
    epsilon: float = 1e-5,
) -> Tensor:
    """`layer_norm` of groups of channels.

    Args:
        data: the array.
        gamma: the factors of the channels; None for none.
        beta: summand; None for none.
        num_groups: into how many groups the channels are divided.
        channel_axis: the dimension of channels.
        axes: the other dimensions of one mean.
        epsilon: keeps the divisor from 0.
    """
    owner = "group_norm"
    channel = normalized_axis(owner, channel_axis, data.ndim)
    others = sorted(normalized_axes(owner, axes, data.ndim))
    if channel in others:
        raise ArgumentValueError(f"{owner}: `axes` are dimensions besides `channel_axis`")
    _require_parameters(owner, data, (channel,), gamma, beta)
    channels = data.shape[channel]
    require_equal(
        owner, f"the channels, in {num_groups} groups", simplified(channels % num_groups),
        as_expr(0, channels.dtype),
    )  # fmt: skip
    size = simplified(channels // num_groups)
    wide = accumulator(data.dtype)

    def groups_of(items: Sequence[Any], group: Any) -> tuple[Any, ...]:
        kept = [group if n == channel else x for n, x in enumerate(items) if n not in others]
        return tuple(kept)

    shape = groups_of(data.shape, as_expr(num_groups, channels.dtype))

    def place(group: Sequence[Any], inner: Sequence[Any]) -> list[Any]:
        along = iter(inner[1:])
        kept = iter(group)
        index = [next(along) if n in others else next(kept) for n in range(data.ndim)]
        index[channel] = index[channel] * size + inner[0]
        return index

    extents = [size, *(data.shape[axis] for axis in others)]
    mean, factor = _statistics(
        shape, extents, lambda group, inner: data(*place(group, inner)), wide, epsilon
    )

    def element(*i: Any) -> Any:
        group = groups_of(i, simplified(i[channel] // size))
        value = (cast(wide, data(*i)) - mean(*group)) * factor(*group)
        weight = None if gamma is None else gamma(i[channel])
        added = None if beta is None else beta(i[channel])
        return cast(data.dtype, _scaled(value, weight, added))

    return te.compute(data.shape, element, "T_group_norm", "broadcast")


def rms_norm(
    data: Tensor,
    weight: Tensor,
    axis: int | Sequence[int],
    epsilon: float = 1e-5,
    bias: Tensor | None = None,
) -> Tensor:
    """``x / sqrt(mean(x * x) + epsilon) * weight + bias``, the mean being that of `axis`.

    Args:
        data: the array.
        weight: the factors, with the dimensions `axis`.
        axis: the dimensions of one mean.
        epsilon: keeps the divisor from 0.
        bias: summand, likewise; None for none.
    """
    axes = normalized_axes("rms_norm", axis, data.ndim)
    _require_parameters("rms_norm", data, axes, weight, bias)
    wide = accumulator(data.dtype)
    steps = _reduce_axes([data.shape[a] for a in axes])
    kept = [n for n in range(data.ndim) if n not in axes]

    def squares(*outer: Any) -> Any:
        value = cast(wide, data(*_merged(data.ndim, axes, [s.var for s in steps], outer)))
        return te.sum(value * value, axis=steps)

    shape = tuple(data.shape[n] for n in kept)
    total = te.compute(shape, squares, "T_squares")
    count = _count([data.shape[a] for a in axes], wide)
    factor = te.compute(
        shape, lambda *i: te.rsqrt(total(*i) / count + as_expr(epsilon, wide)), "T_factor"
    )

    def element(*i: Any) -> Any:
        index = [i[a] for a in axes]
        value = cast(wide, data(*i)) * factor(*(i[n] for n in kept))
        added = None if bias is None else bias(*index)
        return cast(data.dtype, _scaled(value, weight(*index), added))

    return te.compute(data.shape, element, "T_rms_norm", "broadcast")


def _normalised(
    name: str, data: Tensor, axes: tuple[int, ...], epsilon: float, scale: Scale
) -> Tensor:
    wide = accumulator(data.dtype)
    kept = [n for n in range(data.ndim) if n not in axes]

    def value(outer: Sequence[Any], inner: Sequence[Any]) -> Any:
        return data(*_merged(data.ndim, axes, inner, outer))

    shape = tuple(data.shape[n] for n in kept)
    mean, factor = _statistics(shape, [data.shape[a] for a in axes], value, wide, epsilon)

    def element(*i: Any) -> Any:
        outer = [i[n] for n in kept]
        centred = cast(wide, data(*i)) - mean(*outer)
        return cast(data.dtype, scale(centred * factor(*outer), i))

    return te.compute(data.shape, element, name, "broadcast")


def _statistics(
    shape: tuple[Expr, ...],
    extents: Sequence[Expr],
    value: Callable[[Sequence[Any], Sequence[Any]], Any],
    dtype: DType,
    epsilon: float,
) -> tuple[Tensor, Tensor]:
    """The mean, and one by the standard deviation; see `deviations`."""
    mean, squares, count = deviations(shape, extents, value, dtype)
    factor = te.compute(
        shape, lambda *i: te.rsqrt(squares(*i) / count + as_expr(epsilon, dtype)), "T_factor"
    )
    return mean, factor


def deviations(
    shape: tuple[Expr, ...],
    extents: Sequence[Expr],
    value: Callable[[Sequence[Any], Sequence[Any]], Any],
    dtype: DType,
    may_be_empty: bool = False,
) -> tuple[Tensor, Tensor, Any]:
    """The mean, the sum of squares of the differences from it, and the number of elements.

    `value` is the element at a place in `shape`, that of the results, and one in `extents`, what
    one mean runs over. If these may be empty, the sum of no elements is 0.
    """
    count = _count(extents, dtype)
    steps, again = _reduce_axes(extents), _reduce_axes(extents)

    def element(outer: Sequence[Any], inner: Sequence[Any]) -> Any:
        return cast(dtype, value(outer, [step.var for step in inner]))

    total = te.compute(shape, lambda *i: te.sum(element(i, steps), axis=steps), "T_sum")
    if may_be_empty:
        total = or_neutral(total, extents)
    mean = te.compute(shape, lambda *i: total(*i) / count, "T_mean")

    def square(*i: Any) -> Any:
        centred = element(i, again) - mean(*i)
        return te.sum(centred * centred, axis=again)

    return mean, te.compute(shape, square, "T_squares"), count


def _merged(
    ndim: int, axes: Sequence[int], inner: Sequence[Any], outer: Sequence[Any]
) -> list[Any]:
    """Index with `inner` along `axes`, and `outer` along the others."""
    along = dict(zip(axes, inner, strict=True))
    others = iter(outer)
    return [along[n] if n in along else next(others) for n in range(ndim)]


def _reduce_axes(extents: Sequence[Expr]) -> list[Any]:
    return [te.reduce_axis((0, extent), f"k{n}") for n, extent in enumerate(extents)]


def _count(extents: Sequence[Expr], dtype: DType) -> Any:
    return cast(dtype, simplified(math.prod(extents, start=as_expr(1))))


def _scaled(value: Any, weight: Any, added: Any) -> Any:
    if weight is not None:
        value = value * cast(value.dtype, weight)
    return value if added is None else value + cast(value.dtype, added)


def _require_parameters(
    owner: str, data: Tensor, axes: Sequence[int], *parameters: Tensor | None
) -> None:
    for parameter in parameters:
        if parameter is None:
            continue
        if parameter.ndim != len(axes):
            raise ShapeError(
                f"{owner}: {parameter.name} has {parameter.ndim} dimensions, not {len(axes)}"
            )
        for extent, axis in zip(parameter.shape, axes, strict=True):
            require_equal(owner, f"dimension {axis} and {parameter.name}", data.shape[axis], extent)
