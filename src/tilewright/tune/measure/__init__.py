"""Building candidates and timing them, in processes of their own.

Whatever a candidate does there (crash, hang, take all memory, compute wrong numbers) costs that
candidate alone, and is told by an `error_kind`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from tilewright.tune.measure.error_number import MeasureErrorNo
from tilewright.tune.measure.interfaces import (
    BUILDERS,
    ERROR_KINDS,
    RUNNERS,
    Builder,
    BuilderInput,
    BuilderResult,
    ErrorKind,
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.measure.local_builder import LocalBuilder
from tilewright.tune.measure.local_runner import LocalRunner

if TYPE_CHECKING:
    from tilewright.tune.measure.fleet.ray_fleet import RayBuilder, RayRunner

_ON_FLEETS = "tilewright.tune.measure.fleet.ray_fleet"


def __getattr__(name: str) -> Any:
    if name in ("RayBuilder", "RayRunner"):
        return getattr(importlib.import_module(_ON_FLEETS), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@BUILDERS.add("ray")
def _ray_builder(*args: Any, **kwargs: Any) -> Builder:
    """A `RayBuilder`, which is imported when it is wanted."""
    return __getattr__("RayBuilder")(*args, **kwargs)


@RUNNERS.add("ray")
def _ray_runner(*args: Any, **kwargs: Any) -> Runner:
    """A `RayRunner`, which is imported when it is wanted."""
    return __getattr__("RayRunner")(*args, **kwargs)
