"""Losses in numpy."""

from __future__ import annotations

import numpy as np


def nll_loss(
    predictions: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> np.ndarray:
    """The negative log likelihood of the right classes, weighted."""
    total_weight, losses = 0.0, np.zeros(targets.shape, predictions.dtype)
    for place in np.ndindex(*targets.shape):
        kind = targets[place]
        if kind == ignore_index:
            continue
        index = (kind,) if predictions.ndim == 1 else (place[0], kind, *place[1:])
        losses[place] = -predictions[index] * weights[kind]
        total_weight += float(weights[kind])
    if reduction == "none":
        return losses
    total = losses.sum(dtype=predictions.dtype)
    return total / predictions.dtype.type(total_weight) if reduction == "mean" else total
