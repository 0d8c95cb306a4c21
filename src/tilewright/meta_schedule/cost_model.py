"""Predictions of how fast a candidate will be."""

from tilewright.tune.cost_model import *  # noqa: F403
from tilewright.tune.cost_model import CostModel

PyCostModel = CostModel
