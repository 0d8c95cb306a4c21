"""The name of a model of other systems, and what to use instead."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.tune.cost_model.cost_model import CostModel


class MLPModel(CostModel, kind="mlp"):
    """A multi-layer perceptron, which needs more measurements than a tuning run makes.

    There is none here: whoever wants one defines it as a subclass of `CostModel`, on the features
    of `PerStoreFeature`.

    Raises:
        ArgumentValueError: always; it says what to use.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ArgumentValueError(
            'the cost model "mlp" is not part of this package; use "xgb", which learns from as few '
            'measurements as a tuning run makes (pip install "tilewright[tune]"), or a subclass of '
            "CostModel of your own"
        )
