"""Whether a call of a tensor program gives it the arguments that it takes."""

from __future__ import annotations

from typing import Any

from tilewright.ir.dtype import DType
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.relax.expr import Call
from tilewright.relax.op.base import CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.tir.function import PrimFunc


def check_kernel_call(call: Call, module: IRModule) -> str | None:
    """What is wrong with the arguments of a call of a tensor program; None if nothing is."""
    if call.op not in (CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD):
        return None
    if len(call.sinfo_args) != 1:
        return "a call of a tensor program must say by one out_sinfo what it returns"
    if not isinstance(call.args[1].struct_info, TupleStructInfo | ObjectStructInfo | None):
        return "the arrays that a tensor program takes are given as a tuple"
    name = call.args[0]
    function = module.functions.get(name) if isinstance(name, GlobalVar) else None
    if not isinstance(function, PrimFunc):
        return f"{_name(name)} is not a tensor program of the module"
    passed = _arguments_of(call)
    if passed is None:
        return None
    if len(passed) != len(function.params):
        return (
            f"{_name(name)} takes {len(function.params)} arguments, arrays for its results among "
            f"them; the call gives {len(passed)}"
        )
    for param, info in zip(function.params, passed, strict=True):
        buffer = function.buffer_map.get(param)
        problem = _scalar(param.dtype, info) if buffer is None else _array(buffer, info)
        if problem is not None:
            shown = param.name if buffer is None else buffer.name
            return f"parameter {shown} of {_name(name)} {problem}"
    return None


def _name(name: Any) -> str:
    return getattr(name, "name_hint", repr(name))


def _arguments_of(call: Call) -> list[StructInfo] | None:
    """What is passed to the tensor program; None where that is not known."""
    operands = call.args[1].struct_info
    output = call.sinfo_args[0]
    outputs = list(output.fields if isinstance(output, TupleStructInfo) else (output,))
    if call.op is CALL_TIR_INPLACE:
        places = call.attrs["inplace_indices"]
        outputs = [info for info, at in zip(outputs, places, strict=True) if int(at) < 0]
    sizes = call.args[2].struct_info if len(call.args) > 2 else ShapeStructInfo(())
    if not isinstance(operands, TupleStructInfo) or not isinstance(sizes, ShapeStructInfo):
        return None
    if sizes.ndim == UNKNOWN_NDIM:
        return None
    return [*operands.fields, *outputs, *[PrimStructInfo("int64")] * sizes.ndim]


def _scalar(dtype: DType, info: StructInfo) -> str | None:
    if dtype.is_handle:
        return None
    fits = isinstance(info, PrimStructInfo) and info.dtype.code == dtype.code
    known = isinstance(info, (PrimStructInfo, TensorStructInfo))
    return f"is a scalar of {dtype!s}, the call gives {info!r}" if known and not fits else None


def _array(buffer: Any, info: StructInfo) -> str | None:
    if not isinstance(info, TensorStructInfo):
        return None if not isinstance(info, PrimStructInfo) else "is an array, not a scalar"
    if info.dtype is not None and info.dtype is not buffer.dtype:
        return f"has dtype {buffer.dtype!s}, the call gives {info.dtype!s}"
    if info.ndim not in (UNKNOWN_NDIM, len(buffer.shape)):
        return f"has {len(buffer.shape)} dimensions, the call gives {info.ndim}"
    for index, (extent, given) in enumerate(zip(buffer.shape, info.extents or (), strict=False)):
        asked, found = getattr(extent, "value", None), getattr(given, "value", None)
        if asked is not None and found is not None and asked != found:
            return f"has extent {asked} in dimension {index}, the call gives {found}"
    return None
