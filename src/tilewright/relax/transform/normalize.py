"""The normal form of graph functions."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.ir.passes import ModulePass
from tilewright.ir.transform import PassContext
from tilewright.relax.transform.module_mutator import ModuleMutator


class Normalize(ModulePass):
    """Bind each operation to a variable of its own, and find the struct info of everything.

    ::

        before:  return R.add(R.exp(x), y)      after:  lv = R.exp(x)
                                                        lv1 = R.add(lv, y)
                                                        return lv1
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return ModuleMutator(mod).module()
