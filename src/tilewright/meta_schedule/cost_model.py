"""Predictions of how fast a candidate will be."""

from tilewright.tune.cost_model import CostModel, RandomModel

PyCostModel = CostModel

__all__ = ["CostModel", "PyCostModel", "RandomModel"]
