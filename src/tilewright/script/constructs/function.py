"""Attributes and signatures of functions, and declarations of modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.convert import attributes
from tilewright.ir.dtype import PointerType, PrimType, Type
from tilewright.ir.expr import FloatImm, IntImm, StringImm, Var
from tilewright.ir.module import DummyGlobalInfo, GlobalInfo, GlobalVar, VDevice
from tilewright.ir.operators import Operators
from tilewright.script.builder import FunctionFrame, require
from tilewright.script.builder.stack import (
    ModuleUnderConstruction,
    current_module,
    is_reading_module,
)
from tilewright.script.constructs.dtypes import type_of_annotation
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.index_map import IndexMap

_CONSTANTS = (IntImm, FloatImm, StringImm, GlobalVar)


def constant_attributes(values: Any, what: str) -> dict[str, Any]:
    """A dictionary of attributes that are constants.

    Raises:
        ArgumentError: if it is not a dictionary, or holds variables or buffers.
    """
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{what} expects a dictionary, got {values!r}")
    result = dict(attributes(values))
    for key, value in result.items():
        _require_constant(value, f"{what}: {key!r}")
    return result


def _require_constant(value: Any, what: str) -> None:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for item in value:
            _require_constant(item, what)
    elif isinstance(value, Buffer) or (
        isinstance(value, Operators) and not isinstance(value, _CONSTANTS)
    ):
        raise ArgumentError(f"{what} needs a constant, got {value!r}")
    elif isinstance(value, IndexMap) and value.free_variables():
        names = ", ".join(var.name for var in value.free_variables())
        raise ArgumentError(f"{what} needs a constant, the index map mentions {names}")


_INSIDE = "a function, such as `@T.prim_func`"


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Set attributes of the function, such as ``{"tir.noalias": True}``."""
    values = constant_attributes(attrs, "T.func_attr")
    require(FunctionFrame, "T.func_attr", _INSIDE).set_attrs(values)


def func_name(name: str) -> None:
    """Set the name of the function."""
    require(FunctionFrame, "T.func_name", _INSIDE).name = name


def func_ret(ret_type: object) -> None:
    """Set the type of the value that the function returns, such as `T.int32`."""
    require(FunctionFrame, "T.func_ret", _INSIDE).ret_type = returned_type(ret_type)


def returned_type(annotation: object) -> Type | None:
    """The type that a return annotation stands for; None for no value."""
    if annotation is None or isinstance(annotation, (PrimType, PointerType)):
        return annotation
    var = type_of_annotation(annotation)
    if var is None:
        if isinstance(annotation, str):  # T.void
            return None
        raise DiagnosticError(f"expected a type such as T.int32, got {annotation!r}")
    return var.type_annotation or PrimType(var.dtype)


def arg(name: str, obj: Var | Buffer) -> Var | Buffer:
    """Append a parameter to the function."""
    if not isinstance(obj, (Var, Buffer)):
        raise ArgumentError(f"T.arg expects a variable or a buffer, got {obj!r}")
    return require(FunctionFrame, "T.arg", _INSIDE).add_param(name, obj)


def env_thread(thread_tag: str, dtype: str = "int32") -> Var:
    """A variable for the index of a GPU thread, whose extent `T.launch_thread` gives."""
    if not isinstance(thread_tag, str) or not thread_tag:
        raise ArgumentError(f"T.env_thread expects a tag such as 'threadIdx.x', got {thread_tag!r}")
    frame = require(FunctionFrame, "T.env_thread", _INSIDE)
    var = type_of_annotation(str(dtype))
    assert var is not None
    frame.env_threads[var] = IterVar(None, var, IterType.THREAD_INDEX, thread_tag)
    return var


def target(config: Any, host: Any = None) -> Any:
    """A target, for the attribute ``"target"`` of a function."""
    from tilewright.target import Target

    return Target(config, host)


class MetaVar:
    """A Python value that an assignment keeps as it is, instead of computing it at run time."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __iter__(self) -> Any:
        return (MetaVar(item) for item in self.value)


def meta_var(value: Any) -> MetaVar:
    """Mark a value so that ``x = T.meta_var(value)`` names it without a let-binding."""
    return MetaVar(value)


def dummy_global_info() -> DummyGlobalInfo:
    """A global info that says nothing."""
    return DummyGlobalInfo()


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """A device, for the list ``"vdevice"`` of `module_global_infos`.

    Args:
        target: what its code is generated for: a target, or a string or dictionary for one.
        vdevice_id: tells several devices of one kind apart.
        memory_scope: where arrays are on the device.
    """
    return VDevice(target, vdevice_id, memory_scope)


def lookup_vdevice(target_kind: str | None = None, device_index: int = -1) -> VDevice:
    """A device from the list ``"vdevice"`` of the global infos of the module.

    Args:
        target_kind: the kind of its target, such as ``"llvm"``; None or ``"vdevice"`` for any.
        device_index: its place among the devices of that kind; -1 for the only one.

    Raises:
        DiagnosticError: outside of a module.
        ArgumentError: if there is no such device, or if there are several.
    """
    if not is_reading_module():
        if "__qualname__" in sys._getframe(1).f_locals:
            # Python itself runs the body of a class before the decorator reads it.
            return VDevice()
        raise DiagnosticError("I.lookup_vdevice is for the inside of a class with @I.ir_module")
    known = [d for d in current_module().global_infos.get("vdevice", ()) if isinstance(d, VDevice)]
    found = [d for d in known if target_kind in (None, "vdevice") or _kind(d) == target_kind]
    described = f"{target_kind or 'any'} device" + (f" {device_index}" if device_index >= 0 else "")
    if device_index < 0 and len(found) > 1:
        raise ArgumentError(
            f"I.lookup_vdevice: {len(found)} devices of the module could be meant by the "
            f"{described}; give a device_index"
        )
    position = max(device_index, 0)
    if position >= len(found):
        kinds = ", ".join(str(_kind(device)) for device in known) or "none"
        raise ArgumentError(f"I.lookup_vdevice: the module has no {described}; it has {kinds}")
    return found[position]


def _kind(device: VDevice) -> str | None:
    return None if device.target is None else device.target.kind.name


def _open_module(what: str) -> ModuleUnderConstruction:
    module = current_module()
    if not module.is_open:
        raise DiagnosticError(f"{what} is for the body of the class, outside of its functions")
    return module


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """Set attributes of the module, in the body of its class."""
    module = _open_module("I.module_attrs")
    if module.attrs and not allow_overwrite:
        raise DiagnosticError("the attributes of the module are set already")
    module.attrs = constant_attributes(attrs, "I.module_attrs")


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """Set the global infos of the module: lists of nodes by name, in the body of its class."""
    module = _open_module("I.module_global_infos")
    if not isinstance(global_infos, Mapping):
        raise ArgumentError(f"I.module_global_infos expects a dictionary, got {global_infos!r}")
    infos: dict[str, tuple[GlobalInfo, ...]] = {}
    for name, values in global_infos.items():
        items = tuple(values) if isinstance(values, (list, tuple)) else (values,)
        if not isinstance(name, str) or not all(isinstance(item, GlobalInfo) for item in items):
            raise ArgumentError("I.module_global_infos expects lists of global infos by name")
        infos[name] = items
    module.global_infos = infos
