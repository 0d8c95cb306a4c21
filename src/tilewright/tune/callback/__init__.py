"""Measure callbacks: what happens after each batch of measurements."""

from tilewright.tune.callback.add_to_database import AddToDatabase
from tilewright.tune.callback.measure_callback import MeasureCallback
from tilewright.tune.callback.remove_build_artifact import RemoveBuildArtifact
from tilewright.tune.callback.update_cost_model import UpdateCostModel

__all__ = [
    "AddToDatabase",
    "MeasureCallback",
    "RemoveBuildArtifact",
    "UpdateCostModel",
]
