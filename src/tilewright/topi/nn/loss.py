"""Losses."""

from __future__ import annotations

from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.convert import as_expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import require_equal


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str, ignore_index: int
) -> Tensor:
    """The negative log likelihood of the right classes.

    Args:
        predictions: logarithms of probabilities, ``(N, C, d1, d2, ...)`` or ``(C,)``.
        targets: the right classes, ``(N, d1, d2, ...)`` or without dimensions.
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
    zero = as_expr(0, predictions.dtype)

    def counts(place: tuple[Any, ...]) -> Any:
        return targets(*place).equal(as_expr(ignore_index, targets.dtype))

    def loss(*place: Any) -> Any:
        kind = targets(*place)
        index = (kind,) if channel == 0 else (place[0], kind, *place[1:])
        return tir.if_then_else(counts(place), zero, -predictions(*index) * weights(kind))

    losses = te.compute(targets.shape, loss, "T_nll_loss", "nll_loss")
    if reduction == "none":
        return losses
    total = _sum(losses, "T_nll_loss_sum")
    if reduction == "sum":
        return total
    weight = te.compute(
        targets.shape,
        lambda *place: tir.if_then_else(counts(place), zero, weights(targets(*place))),
        "T_weight",
    )
    divisor = _sum(weight, "T_weight_sum")
    return te.compute((), lambda: total() / divisor(), "T_mean")


def _sum(x: Tensor, name: str) -> Tensor:
    if x.ndim == 0:
        return x
    axes = [te.reduce_axis((0, extent), f"k{n}") for n, extent in enumerate(x.shape)]
    return te.compute((), lambda: te.sum(x(*(axis.var for axis in axes)), axis=axes), name)
