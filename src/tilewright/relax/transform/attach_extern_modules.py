"""Making the functions of external modules known before a module is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass


class AttachExternModules(ModulePass):
    """Load external modules, whose functions are registered under their names.

    The module stays as it is. A process that loads a library that was exported from it loads them
    too, by their method `load`::

        mod, params, externs = model.export_tvm(spec, allow_extern=True)
        mod = relax.transform.AttachExternModules(externs)(mod)

    Args:
        extern_modules: what ``export_tvm(spec, allow_extern=True)`` returned.
    """

    def __init__(self, extern_modules: Sequence[Any]) -> None:
        for module in extern_modules:
            if not callable(getattr(module, "load", None)):
                raise ArgumentError(
                    f"AttachExternModules: expected nn.ExternModule objects, got {module!r}"
                )
        self._modules = list(extern_modules)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for module in self._modules:
            module.load()
        return mod
