"""Tilewright: a tensor compiler. Tensor programs in, native code out.

``import tilewright as tvm`` gives everything under the names that tensor-compiler tutorials use.
Parts are imported when they are first used, so importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import did_you_mean
from tilewright.garbage import lasting_objects
from tilewright.providers import provide

if TYPE_CHECKING:
    from tilewright import (
        _ffi,
        arith,
        auto_scheduler,
        autotvm,
        container,
        contrib,
        dlight,
        driver,
        error,
        ir,
        meta_schedule,
        nd,
        relax,
        runtime,
        script,
        target,
        te,
        testing,
        tir,
        topi,
        transform,
        tune,
    )
    from tilewright.driver.build_module import build, lower
    from tilewright.error import TVMError
    from tilewright.ir import IRModule, instrument
    from tilewright.relax.vm.driver import compile
    from tilewright.runtime import DataType
    from tilewright.runtime.device import (
        Device,
        cl,
        cpu,
        cuda,
        device,
        ext_dev,
        gpu,
        hexagon,
        metal,
        opencl,
        rocm,
        vpi,
        vulkan,
        webgpu,
    )
    from tilewright.runtime.module import Module
    from tilewright.runtime.ndarray import NDArray
    from tilewright.runtime.registry import (
        convert,
        get_global_func,
        list_global_func_names,
        register_func,
        remove_global_func,
    )
    from tilewright.schedule_rules.default import default_schedule

__version__: Final = "0.1.0"

provide(
    {
        "arrays": "tilewright.runtime.ndarray",
        "compiler of nn": "tilewright.relax.frontend.nn.jit",
        "exporter of nn": "tilewright.relax.frontend.nn.exporter",
        "graph compiler": "tilewright.relax.vm.compile",
        "graph expressions": "tilewright.relax.expr",
        "graph frames": "tilewright.script.ir_builder.relax",
        "graph operators": "tilewright.relax.op",
        "graph parameters": "tilewright.relax.transform.bind_params",
        "graph passes": "tilewright.relax.transform",
        "graph pictures": "tilewright.relax.graph",
        "graph printers": "tilewright.relax.script.printer",
        "graph scripts": "tilewright.script.relax",
        "graphs": "tilewright.relax",
        "json": "tilewright.tir.json_form",
        "lines of the auto-scheduler": "tilewright.auto_scheduler.tvm_lines",
        "model tuning": "tilewright.meta_schedule.relax_integration",
        "node graphs": "tilewright.tir.node_graph",
        "operators of nn": "tilewright.relax.frontend.nn.op",
        "printer": "tilewright.script.printer",
        "program tuning": "tilewright.meta_schedule.tir_integration",
        "script display": "tilewright.script.printer.display",
        "steps of autotvm": "tilewright.autotvm.template_step",
        "steps of te": "tilewright.te.schedule.within",
        "struct info": "tilewright.relax.struct_info",
        "targets": "tilewright.target",
        "tensor intrinsics": "tilewright.tensor_intrin",
        "tuning databases": "tilewright.tune.database",
    }
)

_MODULES: Final = (
    "_ffi", "arith", "auto_scheduler", "autotvm", "container", "contrib", "dlight", "driver",
    "error", "ir", "meta_schedule", "nd", "relax", "runtime", "script", "target", "te", "testing",
    "tir", "topi", "transform", "tune",
)  # fmt: skip

_DEVICES: Final = (
    "Device", "cl", "cpu", "cuda", "device", "ext_dev", "gpu", "hexagon", "metal", "opencl",
    "rocm", "vpi", "vulkan", "webgpu",
)  # fmt: skip

_REGISTRY: Final = (
    "convert", "get_global_func", "list_global_func_names", "register_func", "remove_global_func",
)  # fmt: skip

_HOME: Final = {
    "DataType": "tilewright.runtime",
    "IRModule": "tilewright.ir",
    "Module": "tilewright.runtime.module",
    "NDArray": "tilewright.runtime.ndarray",
    "TVMError": "tilewright.error",
    "build": "tilewright.driver.build_module",
    "compile": "tilewright.relax.vm.driver",
    "default_schedule": "tilewright.schedule_rules.default",
    "instrument": "tilewright.ir",
    "lower": "tilewright.driver.build_module",
    **dict.fromkeys(_DEVICES, "tilewright.runtime.device"),
    **dict.fromkeys(_REGISTRY, "tilewright.runtime.registry"),
}
"""The module that defines each name of this package that is not a module itself."""

_POINTERS: Final = {
    "auto_sched": "tilewright.auto_scheduler",
    "micro": "tvm.build(..., target='c'), whose source needs nothing but a C compiler",
    "relay": "tilewright.relax; models of PyTorch come by tilewright.relax.frontend.torch",
    "rpc": "meta_schedule.runner, which also measures on many machines",
    "s_tir": "tilewright.tir",
    "tirx": "tilewright.tir",
}
"""What there is in place of names that TVM has had in some version."""

__all__ = ["__version__", *_MODULES, *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME and name not in _MODULES:
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}{_hint(name)}")
    with lasting_objects():
        if name in _HOME:
            value = getattr(importlib.import_module(_HOME[name]), name)
        else:
            value = importlib.import_module(f"tilewright.{name}")
    globals()[name] = value
    return value


def _hint(name: str) -> str:
    """The end of a message about a name that is not here."""
    if name in _POINTERS:
        return f"; there is {_POINTERS[name]}"
    return did_you_mean(name, __all__)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
