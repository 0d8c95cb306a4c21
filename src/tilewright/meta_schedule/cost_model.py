"""Predictions of how fast a candidate will be."""

from tilewright.tune.cost_model import (
    AnalyticalModel,
    CostModel,
    RandomModel,
)

PyCostModel = CostModel

__all__ = [
    "AnalyticalModel",
    "CostModel",
    "PyCostModel",
    "RandomModel",
]
