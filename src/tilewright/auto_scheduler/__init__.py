"""Automatic scheduling of tensor expressions, without templates.

A front door to `tilewright.tune`, by the names that tutorials use::

    task = auto_scheduler.SearchTask(func=matmul, args=(64, 64, 64), target="llvm")
    options = auto_scheduler.TuningOptions(
        num_measure_trials=64, measure_callbacks=[auto_scheduler.RecordToFile("matmul.json")]
    )
    task.tune(options)
    sch, args = task.apply_best("matmul.json")
    function = tvm.build(sch, args, "llvm")
"""

from tilewright.auto_scheduler.compute_dag import ComputeDAG, LayoutRewriteOption
from tilewright.auto_scheduler.cost_model import RandomModel, XGBModel
from tilewright.auto_scheduler.custom_sketch_rule import PreloadCustomSketchRule
from tilewright.auto_scheduler.dispatcher import ApplyHistoryBest, ApplyHistoryBestOrSample
from tilewright.auto_scheduler.hardware_params import HardwareParams
from tilewright.auto_scheduler.measure import (
    LocalBuilder,
    LocalRPCMeasureContext,
    LocalRunner,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    RPCRunner,
)
from tilewright.auto_scheduler.measure_record import (
    RecordReader,
    RecordToFile,
    distill_record_file,
    load_best_record,
    load_records,
    save_records,
)
from tilewright.auto_scheduler.relax_integration import extract_tasks
from tilewright.auto_scheduler.search_callback import PreloadMeasuredStates, SearchCallback
from tilewright.auto_scheduler.search_policy import EmptyPolicy, SearchPolicy, SketchPolicy
from tilewright.auto_scheduler.search_task import SearchTask, register_task_input_buffer
from tilewright.auto_scheduler.task_scheduler import (
    LogEstimatedLatency,
    PrintTableInfo,
    TaskScheduler,
    TaskSchedulerCallback,
)
from tilewright.auto_scheduler.tuning_options import TuningOptions
from tilewright.auto_scheduler.workload_registry import (
    make_workload_key,
    register_workload,
    register_workload_tensors,
    workload_key_to_tensors,
)

__all__ = [
    "ApplyHistoryBest",
    "ApplyHistoryBestOrSample",
    "ComputeDAG",
    "EmptyPolicy",
    "HardwareParams",
    "LayoutRewriteOption",
    "LocalBuilder",
    "LocalRPCMeasureContext",
    "LocalRunner",
    "LogEstimatedLatency",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "PreloadCustomSketchRule",
    "PreloadMeasuredStates",
    "PrintTableInfo",
    "RPCRunner",
    "RandomModel",
    "RecordReader",
    "RecordToFile",
    "SearchCallback",
    "SearchPolicy",
    "SearchTask",
    "SketchPolicy",
    "TaskScheduler",
    "TaskSchedulerCallback",
    "TuningOptions",
    "XGBModel",
    "distill_record_file",
    "extract_tasks",
    "load_best_record",
    "load_records",
    "make_workload_key",
    "register_task_input_buffer",
    "register_workload",
    "register_workload_tensors",
    "save_records",
    "workload_key_to_tensors",
]
