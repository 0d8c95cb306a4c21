"""`@derived_object`: parts of the tuner that users define."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from tilewright.error import ArgumentError
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.feature import FeatureExtractor
from tilewright.tune.measure import Builder, Runner, RunnerFuture
from tilewright.tune.mutator import Mutator
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.scheduler import TaskScheduler
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator

C = TypeVar("C", bound=type)

_METHODS: Final[dict[type, tuple[str, ...]]] = {
    Builder: ("build",),
    CostModel: ("update", "predict"),
    Database: (
        "has_workload", "commit_workload", "commit_tuning_record", "get_top_k",
        "get_all_tuning_records", "__len__",
    ),
    FeatureExtractor: ("extract_from",),
    MeasureCallback: ("apply",),
    Mutator: ("apply",),
    Postproc: ("apply",),
    Runner: ("run",),
    RunnerFuture: ("done", "result"),
    ScheduleRule: ("apply",),
    SearchStrategy: (
        "pre_tuning", "post_tuning", "generate_measure_candidates", "notify_runner_results",
    ),
    SpaceGenerator: ("generate_design_space",),
    TaskScheduler: ("next_task_id",),
}  # fmt: skip
"""What a part defines, by its base class."""


def derived_object(cls: C) -> C:
    """Check that a class defines what a part of the tuner needs, and return it.

    Users derive from the base classes directly; the decorator is for old programs, and tells early
    what is missing::

        @ms.derived_object
        class Double(ms.mutator.PyMutator):
            def apply(self, trace, random_state=None): ...

    Raises:
        ArgumentError: if a method is missing, or if the class derives from no part of the tuner.
    """
    base: Any = next((b for b in cls.__mro__ if b in _METHODS), None)
    if base is None:
        names = ", ".join(sorted(f"Py{b.__name__}" for b in _METHODS))
        raise ArgumentError(
            f"derived_object: {cls.__name__} derives from no part of the tuner, such as {names}"
        )
    if cls is base:
        raise ArgumentError(f"derived_object: derive a class from {base.__name__}")
    missing = [name for name in _METHODS[base] if getattr(cls, name) is getattr(base, name)]
    if missing:
        raise ArgumentError(
            f"derived_object: {cls.__name__} does not define {', '.join(missing)}, "
            f"as a {base.__name__} does"
        )
    return cls
