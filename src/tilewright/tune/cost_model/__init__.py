"""Predictions of how fast a candidate will be."""

from tilewright.tune.cost_model.analytical import AnalyticalModel
from tilewright.tune.cost_model.boosted_trees import XGBConfig
from tilewright.tune.cost_model.cost_model import CostModel
from tilewright.tune.cost_model.mlp_model import MLPModel
from tilewright.tune.cost_model.random_model import RandomModel
from tilewright.tune.cost_model.xgb_model import XGBModel
