"""Normalisation of each element by its neighbours in another dimension."""

from __future__ import annotations

from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_expr, cast
from tilewright.te import Tensor
from tilewright.topi.nn.normalization import checked_axes
from tilewright.topi.nn.pad import pad
from tilewright.topi.precision import accumulator


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
        bias: what is added to the mean.
    """
    if size < 1 or size % 2 == 0:
        raise ArgumentValueError(f"lrn: `size` is an odd number, got {size}")
    (along,) = checked_axes("lrn", data, axis)
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
