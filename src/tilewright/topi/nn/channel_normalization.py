"""Normalisation of channels: over a batch, and over neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr, cast
from tilewright.te import Tensor
from tilewright.topi.nn.normalization import deviations
from tilewright.topi.nn.pad import pad
from tilewright.topi.nn.window import require_equal
from tilewright.topi.operands import accumulator, normalized_axis


def batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Tensor]:
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` of each channel.

    Args:
        data: the array.
        gamma: the factors of the channels.
        beta: summand.
        moving_mean: the mean that the training has found.
        moving_var: the variance that the training has found.
        axis: the dimension of channels, 1 by default.
        epsilon: keeps the divisor from 0; 1e-5 by default.
        center: whether `beta` is added, True by default.
        scale: whether `gamma` is multiplied by, True by default.
        training: whether the mean and the variance are those of `data`, which `moving_mean` and
            `moving_var` then move towards; False by default.
        momentum: how far they move, 0.1 by default.

    Returns:
        The result, and the new `moving_mean` and `moving_var`.
    """
    owner = "batch_norm"
    channel = normalized_axis(owner, 1 if axis is None else axis, data.ndim)
    for parameter in (gamma, beta, moving_mean, moving_var):
        require_equal(owner, "the channels", data.shape[channel], parameter.shape[0])
    mean, variance = _statistics(data, channel) if training else (moving_mean, moving_var)
    wide = accumulator(variance.dtype)
    smallest = as_expr(1e-5 if epsilon is None else epsilon, wide)

    def factor(c: Any) -> Any:
        inverse = te.rsqrt(cast(wide, variance(c)) + smallest)
        return inverse if scale is False else inverse * cast(wide, gamma(c))

    # x * factor + shift has one multiply-add for each element.
    factors = te.compute(variance.shape, factor, "T_factor")

    def shift(c: Any) -> Any:
        negative = -(cast(wide, mean(c)) * factors(c))
        return negative if center is False else negative + cast(wide, beta(c))

    shifts = te.compute(variance.shape, shift, "T_shift")

    def element(*i: Any) -> Any:
        value = cast(wide, data(*i)) * factors(i[channel]) + shifts(i[channel])
        return cast(data.dtype, value)

    result = te.compute(data.shape, element, "T_batch_norm", "broadcast")
    if not training:
        return [result, _copy(moving_mean), _copy(moving_var)]
    part = 0.1 if momentum is None else momentum
    return [result, _moved(moving_mean, mean, part), _moved(moving_var, variance, part)]


def _statistics(data: Tensor, channel: int) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each channel."""

    def value(outer: Sequence[Any], inner: Sequence[Any]) -> Any:
        return data(*inner[:channel], *outer, *inner[channel:])

    shape = (data.shape[channel],)
    others = (*data.shape[:channel], *data.shape[channel + 1 :])
    wide = accumulator(data.dtype)
    mean, squares, count = deviations(shape, others, value, wide, may_be_empty=True)
    return mean, te.compute(shape, lambda c: squares(c) / count, "T_variance")


def _moved(old: Tensor, new: Tensor, part: float) -> Tensor:
    wide = accumulator(old.dtype)
    kept, taken = as_expr(1.0 - part, wide), as_expr(part, wide)

    def moved(c: Any) -> Any:
        return cast(old.dtype, kept * cast(wide, old(c)) + taken * cast(wide, new(c)))

    return te.compute(old.shape, moved, "T_moved")


def _copy(tensor: Tensor) -> Tensor:
    return te.compute(tensor.shape, lambda c: tensor(c), "T_copy")


def lrn(
    data: Tensor,
    size: int,
    axis: int = 1,
    alpha: float = 0.0001,
    beta: float = 0.75,
    bias: float = 2.0,
) -> Tensor:
    """``x / (bias + alpha * sum / size) ** beta``, the sum of the squares of `size` neighbours.

    Args:
        data: the array.
        size: how many elements along `axis` are added, the element itself in the middle.
        axis: the dimension of the neighbours.
        alpha: the factor of the mean of the squares.
        beta: the exponent.
        bias: summand of the mean.
    """
    if size < 1 or size % 2 == 0:
        raise ArgumentValueError(f"lrn: `size` is an odd number, got {size}")
    along = normalized_axis("lrn", axis, data.ndim)
    amounts = [size // 2 if n == along else 0 for n in range(data.ndim)]
    padded = pad(data, amounts, amounts, 0, "pad_data")
    step = te.reduce_axis((0, size), "rxs")
    wide = accumulator(data.dtype)

    def squares(*i: Any) -> Any:
        index = list(i)
        index[along] = i[along] + step.var
        value = cast(wide, padded(*index))
        return te.sum(value * value, axis=step)

    total = te.compute(data.shape, squares, "T_squares")

    def element(*i: Any) -> Any:
        mean = total(*i) * as_expr(alpha / size, wide)
        divisor = te.power(as_expr(bias, wide) + mean, as_expr(beta, wide))
        return cast(data.dtype, cast(wide, data(*i)) / divisor)

    return te.compute(data.shape, element, "T_lrn")
