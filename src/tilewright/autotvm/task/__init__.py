"""Templates, tasks, and which config a template gets."""

from typing import Any

from tilewright.autotvm.task import space
from tilewright.autotvm.task.dispatcher import (
    ApplyConfig,
    ApplyHistoryBest,
    DispatchContext,
    FallbackContext,
    apply_history_best,
    get_config,
)
from tilewright.autotvm.task.space import ConfigEntity, ConfigSpace, FallbackConfigEntity
from tilewright.autotvm.task.task import Task, create
from tilewright.autotvm.task.template import (
    get_workload,
    register_topi_compute,
    register_topi_schedule,
    template,
)
from tilewright.autotvm.task.workload import args_to_workload, deserialize_args, serialize_args


def __getattr__(name: str) -> Any:
    hint = ""
    if name.startswith("extract_from_"):
        hint = (
            ": the functions of a model are tuned without templates, by "
            "meta_schedule.relax_integration.tune_relax"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
