"""The normal form of graph functions."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Function


class Normalize(ModulePass):
    """Bind each operation to a variable of its own, and find the struct info of everything.

    ::

        before:  return R.add(R.exp(x), y)      after:  lv = R.exp(x)
                                                        lv1 = R.add(lv, y)
                                                        return lv1
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        builder, is_same = BlockBuilder(mod), True
        for name, function in mod.functions.items():
            if isinstance(function, Function):
                changed = builder.normalize(function)
                if changed is not function:
                    is_same = False
                    builder.update_func(name, changed)
        return mod if is_same else builder.get()
