"""Arrays are brought into another shape once."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.module_mutator import ViewMutator


class RemoveRedundantReshape(ModulePass):
    """Remove a reshape that another one follows, and one to the shape that the array has.

    So are `expand_dims`, `squeeze` and `flatten`. What is written over later stays::

        before:  lv = R.flatten(x)                      # x has the shape (2, 3)
                 lv1 = R.reshape(lv, (3, 2))            after:  lv1 = R.reshape(x, (3, 2))
                 lv2 = R.reshape(lv1, (2, 3))                   lv2 = x
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Removal(mod).module()


class _Removal(ViewMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if self.keeps or not _is_view(call):
            return call
        call = self.builder_.normalize(call)
        info, source = call.struct_info, call.args[0]
        if not isinstance(info, TensorStructInfo) or info.extents is None:
            return call
        inner = definition(self.builder_.lookup_usable, source)
        if _is_view(inner):
            source = inner.args[0]
        if self._has_shape(source, info):
            return source
        return call if source is call.args[0] else op.reshape(source, info.extents)

    def _has_shape(self, value: Any, wanted: TensorStructInfo) -> bool:
        info = value.struct_info
        if not isinstance(info, TensorStructInfo) or info.extents is None:
            return False
        if info.dtype is not wanted.dtype or info.ndim != wanted.ndim:
            return False
        assert wanted.extents is not None
        return all(map(self.builder_.analyzer.can_prove_equal, info.extents, wanted.extents))


def _is_view(value: object) -> bool:
    entry = operator_of(value)
    return entry is not None and entry.is_view
