"""Predictions of how fast a candidate will be."""

from tilewright.tune.cost_model.analytical import AnalyticalModel
from tilewright.tune.cost_model.boosted_trees import XGBConfig
from tilewright.tune.cost_model.cost_model import CostModel, MLPModel, RandomModel
from tilewright.tune.cost_model.xgb_model import XGBModel
