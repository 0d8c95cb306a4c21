"""What is said about a module as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError
from tilewright.ir.global_info import DummyGlobalInfo, GlobalInfo
from tilewright.script.builder.module import current_module
from tilewright.script.constructs.attributes import constant_attributes


def dummy_global_info() -> DummyGlobalInfo:
    """A global info that says nothing."""
    return DummyGlobalInfo()


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """Set attributes of the module, in the body of its class."""
    module = current_module()
    if module.attrs and not allow_overwrite:
        raise DiagnosticError("the attributes of the module are set already")
    module.attrs = constant_attributes(attrs, "I.module_attrs")


def module_global_infos(global_infos: Mapping[str, Any]) -> None:
    """Set the global infos of the module: lists of nodes by name, in the body of its class."""
    module = current_module()
    if not isinstance(global_infos, Mapping):
        raise ArgumentError(f"I.module_global_infos expects a dictionary, got {global_infos!r}")
    infos: dict[str, tuple[GlobalInfo, ...]] = {}
    for name, values in global_infos.items():
        items = tuple(values) if isinstance(values, (list, tuple)) else (values,)
        if not isinstance(name, str) or not all(isinstance(item, GlobalInfo) for item in items):
            raise ArgumentError("I.module_global_infos expects lists of global infos by name")
        infos[name] = items
    module.global_infos = infos
