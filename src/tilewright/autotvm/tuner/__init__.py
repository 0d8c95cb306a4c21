"""Tuners: each one names a search strategy of the tuner, and what guides it."""

from __future__ import annotations

from typing import Any, Final

from tilewright.autotvm.tuner.tuner import Tuner
from tilewright.autotvm.tuner.tuners import (
    DropletTuner,
    GATuner,
    GridSearchTuner,
    RandomTuner,
    XGBTuner,
)

__all__ = ["DropletTuner", "GATuner", "GridSearchTuner", "RandomTuner", "Tuner", "XGBTuner"]

_MISNOMERS: Final = {
    "GA99Tuner": "the genetic tuner is autotvm.tuner.GATuner(task, pop_size=100); give "
    "measure_option to its method tune(n_trial, measure_option)",
    "SATuner": "there is no simulated annealing: autotvm.tuner.XGBTuner(task) searches with a cost "
    "model",
}
"""What to use in the place of names that tutorials use and that do not exist."""


def __getattr__(name: str) -> Any:
    hint = f": {_MISNOMERS[name]}" if name in _MISNOMERS else ""
    if name == "callback":
        from tilewright.autotvm import callback

        return callback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
