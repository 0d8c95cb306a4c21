"""The `R` namespace: everything that a graph in TVMScript is written with.

``from tilewright.script import relax as R``. All operators of `tilewright.relax.op` are in it.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.dtype import DType
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import Call as CallNode
from tilewright.relax.expr import (
    DataTypeImm,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    StringImm,
    as_relax,
    const,
)
from tilewright.relax.expr import ExternFunc as ExternFuncNode
from tilewright.relax.expr import Tuple as TupleNode
from tilewright.relax.expr import TupleGetItem as TupleGetItemNode
from tilewright.relax.op import base as _operators
from tilewright.relax.op import conversion
from tilewright.relax.script import operators
from tilewright.relax.script.annotations import (
    Callable,
    Object,
    Prim,
    Shape,
    Tensor,
    Tuple,
    as_struct_info,
    device_of,
)
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

del _operators


def prim_value(value: Any) -> PrimValue:
    """A scalar: a number or an expression of symbolic sizes."""
    return PrimValue(value)


def shape(value: Sequence[Any]) -> ShapeExpr:
    """A shape."""
    return ShapeExpr(value)


def str(value: Any) -> StringImm:
    """A text."""
    if not isinstance(value, builtins.str):
        raise ArgumentError(f"R.str expects a text, got {value!r}")
    return StringImm(value)


def dtype(value: Any) -> DataTypeImm:
    """A dtype as a value."""
    return DataTypeImm(DType(value))


def tuple(*fields: Any) -> TupleNode:
    """Several values as one."""
    return TupleNode(fields)


def TupleGetItem(tuple: Any, index: int) -> TupleGetItemNode:
    """Field `index` of a tuple."""
    return TupleGetItemNode(as_relax(tuple), index)


def ExternFunc(name: Any, struct_info: Any = None) -> ExternFuncNode:
    """A function that is found by name when the program runs."""
    if struct_info is None:
        return ExternFuncNode(name)
    return ExternFuncNode(name, as_struct_info(struct_info))


def to_vdevice(data: Any, dst_vdevice: Any) -> CallNode:
    """`data` on a device: one of ``I.vdevice``, or its name in the module, such as ``"llvm:0"``."""
    return conversion.to_vdevice(data, device_of("R.to_vdevice", dst_vdevice))  # type: ignore[arg-type]


def hint_on_device(data: Any, dst_vdevice: Any) -> CallNode:
    """`data`, with the hint that its user should run on a device, as in `to_vdevice`."""
    return conversion.hint_on_device(data, device_of("R.hint_on_device", dst_vdevice))  # type: ignore[arg-type]


def Call(
    op: Any, args: Sequence[Any], *, attrs: Mapping[Any, Any] | None = None, sinfo_args: Any = ()
) -> CallNode:
    """The call of an operator, given by its name, or of a function, with all its parts.

    Args:
        op: such as ``"relax.add"``, or a function.
        args: the arguments.
        attrs: its attributes, constants.
        sinfo_args: struct info that is part of the call.
    """
    callee = Op.get(op) if isinstance(op, builtins.str) else op
    if not isinstance(callee, (Op, GlobalVar, RelaxExpr)):
        raise ArgumentError(f"R.Call expects an operator or a function, got {op!r}")
    if not isinstance(args, (list, builtins.tuple)):
        raise ArgumentError(f"R.Call expects a tuple of arguments, got {args!r}")
    return CallNode(callee, args, attrs, [as_struct_info(info) for info in sinfo_args])


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
