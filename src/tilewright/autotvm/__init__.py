"""Tuning by templates: a function makes a schedule, and its knobs say what is to be chosen.

A front door to `tilewright.tune`, by the names that tutorials use::

    from tilewright import autotvm

    @autotvm.template("matmul")
    def matmul(n, m, k): ...

    task = autotvm.task.create("matmul", args=[512, 512, 512], target="llvm")
    print(task.config_space)

Modules and names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tilewright.autotvm import callback, measure, record, task, tuner
    from tilewright.autotvm.measure import (
        LocalBuilder,
        LocalRunner,
        MeasureErrorNo,
        MeasureInput,
        MeasureResult,
        RPCRunner,
        measure_option,
    )
    from tilewright.autotvm.task import (
        ApplyHistoryBest,
        ConfigEntity,
        ConfigSpace,
        DispatchContext,
        FallbackConfigEntity,
        FallbackContext,
        Task,
        apply_history_best,
        get_config,
        register_topi_compute,
        register_topi_schedule,
        template,
    )
    from tilewright.error import InstantiationError

_MODULES: Final = ("callback", "measure", "record", "task", "tuner")

_HOME: Final = {
    "InstantiationError": "tilewright.error",
    **dict.fromkeys(
        (
            "ApplyHistoryBest", "ConfigEntity", "ConfigSpace", "DispatchContext",
            "FallbackConfigEntity", "FallbackContext", "Task", "apply_history_best", "get_config",
            "register_topi_compute", "register_topi_schedule", "template",
        ),
        "tilewright.autotvm.task",
    ),
    **dict.fromkeys(
        (
            "LocalBuilder", "LocalRunner", "MeasureErrorNo", "MeasureInput", "MeasureResult",
            "RPCRunner", "measure_option",
        ),
        "tilewright.autotvm.measure",
    ),
}  # fmt: skip
"""The module that defines each name of this package that is not a module itself."""

_MISNOMERS: Final = {
    "apply_graph_best": "there is no tuner of whole graphs; autotvm.apply_history_best(records) "
    "gives each template its fastest config",
    "tophub": "no configs are downloaded; autotvm.apply_history_best(records) takes your own",
    "space": "a task has its space: `task.config_space`, which autotvm.task.create makes of the "
    "knobs of its template; the classes are in autotvm.task.space. SpaceGenerator is a class of "
    "meta_schedule",
}
"""What is meant by names that texts use and that are none."""


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    hint = f": {_MISNOMERS[name]}" if name in _MISNOMERS else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*_MODULES, *_HOME})
