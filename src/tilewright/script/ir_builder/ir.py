"""Frames of modules: ``from tilewright.script.ir_builder import ir as I``."""

from __future__ import annotations

from tilewright.error import DiagnosticError
from tilewright.ir.module import BaseFunc, GlobalVar
from tilewright.script.constructs.function import (
    dummy_global_info,
    lookup_vdevice,
    module_attrs,
    module_global_infos,
    vdevice,
)
from tilewright.script.ir_builder.base import IRBuilder, ModuleFrame

__all__ = [
    "decl_function", "def_function", "dummy_global_info", "ir_module", "lookup_vdevice",
    "module_attrs", "module_global_infos", "vdevice",
]  # fmt: skip


def ir_module() -> ModuleFrame:
    """A module, as a context manager around the functions in it."""
    return ModuleFrame()


def decl_function(func_name: str, func_signature: BaseFunc | None = None) -> GlobalVar:
    """Declare a function of the module, so that others can call it before it is defined.

    Args:
        func_name: its name.
        func_signature: a function with its signature, which is not needed.
    """
    del func_signature
    return _module("I.decl_function").declare(func_name)


def def_function(func_name: str, func: BaseFunc) -> None:
    """Give the module a function that exists already, or replace nothing: it must be new.

    Raises:
        DiagnosticError: if the module has a function of that name.
    """
    _module("I.def_function").define(func_name, func)


def _module(what: str) -> ModuleFrame:
    module = IRBuilder.current().module
    if module is None:
        raise DiagnosticError(f"{what} belongs inside of `with I.ir_module():`")
    return module
