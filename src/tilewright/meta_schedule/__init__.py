"""Automatic scheduling: search for the fastest schedule of a program by measuring.

A front door to `tilewright.tune`, by the names that tutorials use::

    from tilewright import meta_schedule as ms

    database = ms.tune_tir(mod, target="llvm", work_dir="./tune_tmp", max_trials_global=64)
    sch = ms.tir_integration.compile_tir(database, mod, "llvm")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tilewright.meta_schedule import (
    arg_info,
    builder,
    cost_model,
    database,
    feature_extractor,
    logging,
    measure_callback,
    mutator,
    postproc,
    profiler,
    runner,
    schedule_rule,
    search_strategy,
    space_generator,
    task_scheduler,
    tir_integration,
    trace_apply,
    tune_context,
)
from tilewright.meta_schedule.builder import Builder
from tilewright.meta_schedule.cost_model import CostModel
from tilewright.meta_schedule.database import Database
from tilewright.meta_schedule.derived_object import derived_object
from tilewright.meta_schedule.enabled import is_meta_schedule_enabled
from tilewright.meta_schedule.feature_extractor import FeatureExtractor
from tilewright.meta_schedule.measure_callback import MeasureCallback
from tilewright.meta_schedule.mutator import Mutator
from tilewright.meta_schedule.postproc import Postproc
from tilewright.meta_schedule.profiler import Profiler
from tilewright.meta_schedule.runner import Runner
from tilewright.meta_schedule.schedule_rule import ScheduleRule
from tilewright.meta_schedule.search_strategy import MeasureCandidate, SearchStrategy
from tilewright.meta_schedule.space_generator import SpaceGenerator
from tilewright.meta_schedule.task_scheduler import TaskScheduler
from tilewright.meta_schedule.tir_integration import compile_tir, tune_tir
from tilewright.meta_schedule.tune import tune_tasks
from tilewright.meta_schedule.tune_config import TuneConfig
from tilewright.meta_schedule.tune_context import TuneContext

if TYPE_CHECKING:
    from tilewright.meta_schedule import relax_integration


def __getattr__(name: str) -> Any:
    # It loads graphs and their operators, which programs without graphs do not need.
    if name == "relax_integration":
        return importlib.import_module("tilewright.meta_schedule.relax_integration")
    raise AttributeError(f"module 'tilewright.meta_schedule' has no attribute {name!r}")
