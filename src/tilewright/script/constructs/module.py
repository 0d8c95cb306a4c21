"""What is said about a module as a whole."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.global_info import DummyGlobalInfo, GlobalInfo, VDevice
from tilewright.script.builder.module import (
    ModuleUnderConstruction,
    current_module,
    is_reading_module,
)
from tilewright.script.constructs.attributes import constant_attributes


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
