"""The `R` namespace: everything that a graph in TVMScript is written with.

``from tilewright.script import relax as R``. All operators of `tilewright.relax.op` are in it.
"""

from __future__ import annotations

import builtins
from typing import Any

from tilewright.relax.expr import const
from tilewright.relax.script import operators
from tilewright.relax.script.annotations import Callable, Object, Prim, Shape, Tensor, Tuple
from tilewright.relax.script.metadata import metadata
from tilewright.relax.script.parser import function, macro
from tilewright.relax.script.statements import (
    Else,
    If,
    Then,
    dataflow,
    emit,
    emit_match_cast,
    emit_te,
    emit_var_binding,
    func_attr,
    func_name,
    func_ret_struct_info,
    func_ret_value,
    match_cast,
    output,
)
from tilewright.relax.script.values import (
    Call,
    ExternFunc,
    TupleGetItem,
    dtype,
    hint_on_device,
    prim_value,
    shape,
    str,
    to_vdevice,
    tuple,
)
from tilewright.runtime.device import (
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

__all__ = [
    "Call", "Callable", "Else", "ExternFunc", "If", "Object", "Prim", "Shape", "Tensor", "Then",
    "Tuple", "TupleGetItem", "const", "cpu", "cuda", "dataflow", "device", "dtype", "emit",
    "emit_match_cast", "emit_te", "emit_var_binding", "ext_dev", "func_attr", "func_name",
    "func_ret_struct_info", "func_ret_value", "function", "gpu", "hexagon", "hint_on_device",
    "macro", "match_cast", "metadata", "metal", "opencl", "output", "prim_value", "rocm",
    "shape", "str", "to_vdevice", "tuple", "vpi", "vulkan", "webgpu",
]  # fmt: skip


def __getattr__(name: builtins.str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"R has no {name!r}")
    return operators.find(name, __all__)


def __dir__() -> list[builtins.str]:
    return sorted({*__all__, *operators.top_level_names()})
