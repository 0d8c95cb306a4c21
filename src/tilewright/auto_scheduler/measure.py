"""Building and running of candidates, and what came of it."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright import tune
from tilewright.auto_scheduler.compute_dag import ComputeDAG, trace_of
from tilewright.auto_scheduler.search_task import SearchTask, register_task_input_buffer
from tilewright.error import ArgumentValueError, RecordError
from tilewright.te.create_prim_func import create_prim_func
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.database import TuningRecord
from tilewright.tune.measure import EvaluatorConfig
from tilewright.tune.measure.local_builder import LocalBuilder as _Builder
from tilewright.tune.measure.local_runner import LocalRunner as _Runner
from tilewright.tune.workload import Workload

__all__ = [
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "RPCRunner",
    "recover_measure_input",
    "register_task_input_buffer",
]
