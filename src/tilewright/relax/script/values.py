"""Leaves of graphs as scripts write them: `R.const`, `R.shape`, `R.prim_value`, ..."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.dtype import DType
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import Call as CallNode
from tilewright.relax.expr import DataTypeImm, PrimValue, RelaxExpr, ShapeExpr, StringImm, as_relax
from tilewright.relax.expr import ExternFunc as ExternFuncNode
from tilewright.relax.expr import Tuple as TupleNode
from tilewright.relax.expr import TupleGetItem as TupleGetItemNode
from tilewright.relax.op import base as _operators  # registers the operators that call
from tilewright.relax.op import devices
from tilewright.relax.script.annotations import as_struct_info, device_of

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
    return devices.to_vdevice(data, device_of("R.to_vdevice", dst_vdevice))  # type: ignore[arg-type]


def hint_on_device(data: Any, dst_vdevice: Any) -> CallNode:
    """`data`, with the hint that its user should run on a device, as in `to_vdevice`."""
    return devices.hint_on_device(data, device_of("R.hint_on_device", dst_vdevice))  # type: ignore[arg-type]


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
