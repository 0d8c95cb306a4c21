"""Activation functions, and a factor and summand per channel."""

from __future__ import annotations

from typing import Any

from tilewright import te, tir
from tilewright.error import ShapeError
from tilewright.ir.convert import as_expr
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import require_equal


def relu(x: Tensor) -> Tensor:
    """The larger one of each element and 0."""
    zero = as_expr(0, x.dtype)
    return te.compute(x.shape, lambda *i: tir.max(x(*i), zero), "T_relu", "elemwise")


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Each element, times `alpha` where it is negative."""

    def element(*i: Any) -> Any:
        value = x(*i)
        return tir.Select(value > as_expr(0, x.dtype), value, value * as_expr(alpha, x.dtype))

    return te.compute(x.shape, element, "T_leaky_relu", "elemwise")


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """Each element, times the slope of its channel where it is negative.

    Args:
        x: the array.
        slope: one number for each index along `axis`.
        axis: the dimension of channels.
    """
    if slope.ndim != 1 or not -x.ndim <= axis < x.ndim:
        raise ShapeError(
            f"prelu: `slope` has one dimension, that of axis {axis} of {x.ndim}; it has "
            f"{slope.ndim} dimensions"
        )
    channel = axis % x.ndim
    require_equal("prelu", "the channels", x.shape[channel], slope.shape[0])

    def element(*i: Any) -> Any:
        value = x(*i)
        return tir.Select(value > as_expr(0, x.dtype), value, value * slope(i[channel]))

    return te.compute(x.shape, element, "T_prelu", "broadcast")


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """``x * scale + shift`` of each channel of ``(batch, channel, height, width)``."""
    return _scale_shift("scale_shift_nchw", Input, Scale, Shift, "NCHW")


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:  # noqa: N803
    """``x * scale + shift`` of each channel of ``(batch, height, width, channel)``."""
    return _scale_shift("scale_shift_nhwc", Input, Scale, Shift, "NHWC")


def _scale_shift(owner: str, data: Tensor, scale: Tensor, shift: Tensor, layout: str) -> Tensor:
    require_rank(owner, "Input", data, layout)
    channel = layout.index("C")
    for name, parameter in (("Scale", scale), ("Shift", shift)):
        require_rank(owner, name, parameter, "C")
        require_equal(owner, f"the channels and {name}", data.shape[channel], parameter.shape[0])
    return te.compute(
        data.shape, lambda *i: data(*i) * scale(i[channel]) + shift(i[channel]), owner, "broadcast"
    )
