"""Functions that are called from outside get their names as symbols."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass


class AttachGlobalSymbol(ModulePass):
    """Make the symbol of each exported function the name that the module has for it.

    Private functions, which have no symbol, stay so.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        changed = {
            name: function.with_attr("global_symbol", name.name_hint)
            for name, function in mod.functions.items()
            if function.global_symbol not in (None, name.name_hint)
        }
        if not changed:
            return mod
        return IRModule({**mod.functions, **changed}, mod.attrs, mod.global_infos)
