"""Losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.convert import as_expr, cast
from tilewright.te import Tensor
from tilewright.te.elementwise import cast_elements
from tilewright.topi.nn.window import require_equal
from tilewright.topi.precision import accumulator
from tilewright.topi.reduction import sum as sum_of_elements


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """The negative log likelihood of the right classes.

    Args:
        predictions: logarithms of probabilities, ``(N, C, d1, d2, ...)`` or ``(C,)``.
        targets: the right classes, ``(N, d1, d2, ...)`` or without dimensions. The loss of what is
            no class is NaN.
        weights: ``(C,)``.
        reduction: ``"mean"``, weighted, ``"sum"``, or ``"none"``.
        ignore_index: the class that does not count.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentValueError(
            f'nll_loss: `reduction` is "mean", "sum" or "none", got {reduction!r}'
        )
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
        """`value` of the right class; 0 if it does not count, and NaN if there is no such class."""
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
