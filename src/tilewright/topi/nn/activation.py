"""Activation functions, softmax and its loss, and a factor and summand per channel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tilewright import te, tir
from tilewright.error import ShapeError, require_one_of
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.te.elementwise import cast_elements
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import require_equal
from tilewright.topi.operands import accumulator, normalized_axis
from tilewright.topi.reduction import sum as sum_of_elements


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


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x - max(x)) / sum(exp(x - max(x))) along `axis`."""
    return _softmax("softmax", x, axis)


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The same as `softmax`: its exponential is vectorised in any case."""
    return _softmax("fast_softmax", x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """x - max(x) - log(sum(exp(x - max(x)))) along `axis`."""
    axis = normalized_axis("log_softmax", axis, x.ndim)
    largest = _reduced(x, axis, te.max, lambda value, _: value, "T_softmax_maxelem")
    total = _reduced(
        x,
        axis,
        te.sum,
        lambda value, others: te.exp(value - largest(*others)),
        "T_softmax_expsum",
    )
    log_total = te.compute(
        total.shape, lambda *i: te.log(total(*i)), "T_softmax_logsum", "elemwise"
    )

    def element(*i: Any) -> Any:
        # One after the other: the logarithm would be lost in the digits of a large maximum.
        others = _without(i, axis)
        return x(*i) - largest(*others) - log_total(*others)

    return te.compute(x.shape, element, "compute", "log_softmax_output", {"axis": axis})


def _softmax(owner: str, x: Tensor, axis: int) -> Tensor:
    axis = normalized_axis(owner, axis, x.ndim)
    powers, factor = softmax_parts(x, axis)
    return te.compute(
        x.shape,
        lambda *i: powers(*i) * factor(*_without(i, axis)),
        "T_softmax_norm",
        "softmax_output",
        {"axis": axis},
    )


def softmax_parts(
    x: Tensor,
    axis: int,
    *,
    factor: Expr | None = None,
    masked: bool = False,
    dtype: DType | None = None,
    count: Expr | None = None,
) -> tuple[Tensor, Tensor]:
    """What is multiplied for the `softmax` of `x`, or of a multiple of it: ``exp(x - max(x))``, and
    the inverse of the sum of these along `axis`.

    Args:
        factor: a positive factor of `x`.
        masked: whether rows may be minus infinity everywhere. Their softmax is 0.
        dtype: that of the powers, by default as of `x`; the sum is one of rounded powers.
        count: number of elements along `axis`, by default all. Others, which must not be larger
            than the largest one, have powers of 0.
    """
    axis = axis % x.ndim
    narrow = x.dtype if dtype is None else dtype
    largest = _reduced(x, axis, te.max, lambda value, _: value, "T_softmax_maxelem")

    def power(*i: Any) -> Any:
        most = largest(*_without(i, axis))
        if masked:
            most = tir.Select(most == -te.infinity(x.dtype), as_expr(0, x.dtype), most)
        difference = x(*i) - most
        result = te.exp(difference if factor is None else difference * factor)
        if count is not None:
            result = tir.Select(i[axis] < count, result, as_expr(0, x.dtype))
        return cast(narrow, result)

    powers = te.compute(x.shape, power, "T_softmax_exp")
    total = _reduced(
        powers, axis, te.sum, lambda value, _: cast(x.dtype, value), "T_softmax_expsum"
    )
    one = as_expr(1, x.dtype)

    def inverse(*others: Any) -> Any:
        divisor = total(*others)
        if masked:
            divisor = tir.Select(divisor == as_expr(0, x.dtype), one, divisor)
        return one / divisor

    # One division for each row: the sum is 1 at least, so its inverse is as precise.
    return powers, te.compute(total.shape, inverse, "T_softmax_factor")


def _reduced(
    x: Tensor,
    axis: int,
    reducer: Callable[..., Any],
    value: Callable[[Any, tuple[Any, ...]], Any],
    name: str,
) -> Tensor:
    """`value` of each element, and of where it is in the other dimensions, reduced along `axis`."""
    along = te.reduce_axis((0, x.shape[axis]), "k")

    def element(*others: Any) -> Any:
        place = (*others[:axis], along, *others[axis:])
        return reducer(value(x(*place), others), axis=along)

    return te.compute(_without(x.shape, axis), element, name)


def _without(items: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*items[:axis], *items[axis + 1 :])


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """The negative log likelihood of the right classes.

    Args:
        predictions: logarithms of probabilities, ``(N, C, d1, d2, ...)`` or ``(C,)``.
        targets: the right classes, ``(N, d1, d2, ...)`` or without dimensions. The loss of what is
            not a class is NaN.
        weights: ``(C,)``.
        reduction: ``"mean"``, weighted, ``"sum"``, or ``"none"``.
        ignore_index: the class that does not count.
    """
    require_one_of("nll_loss: `reduction`", reduction, ("mean", "sum", "none"))
    if predictions.ndim not in (targets.ndim + 1,) or weights.ndim != 1:
        raise ShapeError(
            f"nll_loss: predictions of {predictions.ndim} dimensions need targets of "
            f"{predictions.ndim - 1} and weights of 1, got {targets.ndim} and {weights.ndim}"
        )
    channel = 0 if predictions.ndim == 1 else 1
    require_equal("nll_loss", "the classes", predictions.shape[channel], weights.shape[0])
    dtype = predictions.dtype
    wide = accumulator(dtype)
    classes = predictions.shape[channel]

    def of_class(place: tuple[Any, ...], value: Callable[[Any], Any]) -> Any:
        """`value` of the right class; 0 for the ignored class, and NaN for unknown classes."""
        kind = targets(*place)
        exists = te.all(kind >= 0, kind < cast(kind.dtype, classes))
        known = tir.if_then_else(exists, cast(wide, value(kind)), as_expr(math.nan, wide))
        ignored = kind.equal(as_expr(ignore_index, kind.dtype))
        return tir.if_then_else(ignored, as_expr(0, wide), known)

    def loss(*place: Any) -> Any:
        def value(kind: Any) -> Any:
            index = (kind,) if channel == 0 else (place[0], kind, *place[1:])
            return -cast(wide, predictions(*index)) * cast(wide, weights(kind))

        return of_class(place, value)

    losses = te.compute(targets.shape, loss, "T_nll_loss", "nll_loss")
    if reduction == "none":
        return cast_elements(losses, dtype)
    total = sum_of_elements(losses)
    if reduction == "sum":
        return cast_elements(total, dtype)
    counted = te.compute(targets.shape, lambda *place: of_class(place, weights), "T_weight")
    divisor = sum_of_elements(counted)
    return te.compute((), lambda: cast(dtype, total() / divisor()), "T_mean")
