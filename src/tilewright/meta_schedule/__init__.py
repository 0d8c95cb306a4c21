"""Automatic scheduling: search for the fastest schedule of a program by measuring.

A front door to `tilewright.tune`, by the names that tutorials use::

    from tilewright import meta_schedule as ms

    database = ms.tune_tir(mod, target="llvm", work_dir="./tune_tmp", max_trials_global=64)
    sch = ms.tir_integration.compile_tir(database, mod, "llvm")

Modules and names are imported on first use.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tilewright.meta_schedule import relax_integration, tir_integration
    from tilewright.meta_schedule.compatibility import (
        TuneConfig,
        derived_object,
        is_meta_schedule_enabled,
    )
    from tilewright.meta_schedule.tir_integration import compile_tir, tune_tir
    from tilewright.tune import callback as measure_callback
    from tilewright.tune import candidate as arg_info
    from tilewright.tune import context as tune_context
    from tilewright.tune import cost_model, database, mutator, postproc
    from tilewright.tune import feature as feature_extractor
    from tilewright.tune import integration as trace_apply
    from tilewright.tune import measure as builder
    from tilewright.tune import measure as runner
    from tilewright.tune import rule as schedule_rule
    from tilewright.tune import scheduler as task_scheduler
    from tilewright.tune import search as search_strategy
    from tilewright.tune import space as space_generator
    from tilewright.tune import tuning as tune
    from tilewright.tune.callback import MeasureCallback
    from tilewright.tune.candidate import MeasureCandidate
    from tilewright.tune.context import TuneContext
    from tilewright.tune.cost_model import CostModel
    from tilewright.tune.database import Database
    from tilewright.tune.feature import FeatureExtractor
    from tilewright.tune.measure import Builder, Runner
    from tilewright.tune.mutator import Mutator
    from tilewright.tune.postproc import Postproc
    from tilewright.tune.progress import log as logging
    from tilewright.tune.progress import profiler
    from tilewright.tune.progress.profiler import Profiler
    from tilewright.tune.rule import ScheduleRule
    from tilewright.tune.scheduler import TaskScheduler
    from tilewright.tune.search import SearchStrategy
    from tilewright.tune.space import SpaceGenerator
    from tilewright.tune.tuning import tune_tasks

_COMPATIBILITY: Final = "tilewright.meta_schedule.compatibility"

_HOME: Final[dict[str, tuple[str, ...]]] = {
    "arg_info": ("tilewright.tune.candidate",),
    "builder": ("tilewright.tune.measure",),
    "cost_model": ("tilewright.tune.cost_model",),
    "database": (
        "tilewright.tune.database", "tilewright.tune.workload", "tilewright.tune.workload",
    ),
    "derived_object": (_COMPATIBILITY,),
    "enabled": (_COMPATIBILITY,),
    "feature_extractor": ("tilewright.tune.feature",),
    "logging": (_COMPATIBILITY, "tilewright.tune.progress.log"),
    "measure_callback": ("tilewright.tune.callback",),
    "mutator": ("tilewright.tune.mutator",),
    "postproc": ("tilewright.tune.postproc",),
    "profiler": ("tilewright.tune.progress.profiler",),
    "runner": ("tilewright.tune.measure",),
    "schedule_rule": ("tilewright.tune.rule",),
    "search_strategy": ("tilewright.tune.search", "tilewright.tune.candidate"),
    "space_generator": ("tilewright.tune.space",),
    "task_scheduler": ("tilewright.tune.scheduler",),
    "trace_apply": ("tilewright.tune.integration",),
    "tune": ("tilewright.tune.tuning",),
    "tune_config": (_COMPATIBILITY,),
    "tune_context": ("tilewright.tune.context",),
}  # fmt: skip
"""The modules that define the names of each module of this package."""

_FILES: Final = ("relax_integration", "tir_integration")
"""Modules of this package with a file of their own."""

_NAMES: Final = {
    "Builder": "builder", "CostModel": "cost_model", "Database": "database",
    "FeatureExtractor": "feature_extractor", "MeasureCallback": "measure_callback",
    "MeasureCandidate": "search_strategy", "Mutator": "mutator", "Postproc": "postproc",
    "Profiler": "profiler", "Runner": "runner", "ScheduleRule": "schedule_rule",
    "SearchStrategy": "search_strategy", "SpaceGenerator": "space_generator",
    "TaskScheduler": "task_scheduler", "TuneConfig": "tune_config", "TuneContext": "tune_context",
    "compile_tir": "tir_integration", "derived_object": "derived_object",
    "is_meta_schedule_enabled": "enabled", "tune_tasks": "tune", "tune_tir": "tir_integration",
}  # fmt: skip
"""The module of this package that defines each of its names."""


class _Forwarding(ModuleType):
    """A module whose names are defined elsewhere.

    ``Py`` before the name of a class is optional, as in `PyMutator`, and `create` is that of the
    base class, such as `Database.create`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"{__name__}.{name}")
        self.__spec__ = ModuleSpec(self.__name__, None)
        self._base = name.title().replace("_", "")
        self._homes = _HOME[name]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            homes = [importlib.import_module(home) for home in self._homes]
            if name == "create":
                homes = [getattr(homes[0], self._base, None)]
            for home in homes:
                for candidate in (name, name.removeprefix("Py")):
                    if hasattr(home, candidate):
                        return getattr(home, candidate)
        elif name == "__all__":
            return dir(self)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        names = {name for name in (f"Py{self._base}", "create") if hasattr(self, name)}
        for home in self._homes:
            for name, value in vars(importlib.import_module(home)).items():
                defined_in = str(getattr(value, "__module__", ""))
                if not name.startswith("_") and defined_in.startswith("tilewright."):
                    names.add(name)
        return sorted(names)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    if name in _HOME or name in _FILES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_HOME, *_FILES, *_NAMES})


sys.modules.update({f"{__name__}.{name}": _Forwarding(name) for name in _HOME})
