"""What happens after each batch of measurements."""

from tilewright.tune.callback import (
    AddToDatabase,
    MeasureCallback,
    RemoveBuildArtifact,
    UpdateCostModel,
)

PyMeasureCallback = MeasureCallback

__all__ = [
    "AddToDatabase",
    "MeasureCallback",
    "PyMeasureCallback",
    "RemoveBuildArtifact",
    "UpdateCostModel",
]
