"""Tensor programs that only copy to another shape become views."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.reshape_pattern import has_reshape_pattern
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.module_mutator import ViewMutator
from tilewright.tir.function import PrimFunc


class RewriteDataflowReshape(ModulePass):
    """Use the elements of an array where they are, in another shape, instead of copying them.

    `FuseOps` has had its chance to make the reshape a part of another kernel::

        before:  lv = R.call_tir(cls.reshape, (x,), out_sinfo=R.Tensor((6,), dtype="float32"))
        after:   lv = R.reshape(x, (6,))                    # no element moves

    An array that a later call writes over stays a copy.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Rewriting(mod).module()


class _Rewriting(ViewMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._is_reshape: dict[str, bool] = {}

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if self.keeps or call.op is not CALL_TIR:
            return call
        name, operands = call.args[:2]
        info = call.sinfo_args[0]
        if not isinstance(operands, Tuple) or not isinstance(info, TensorStructInfo):
            return call
        if len(operands.fields) != 1 or info.extents is None:
            return call
        if not self._copies(name.name_hint):  # type: ignore[attr-defined]
            return call
        return op.reshape(operands.fields[0], info.extents)

    def _copies(self, name: str) -> bool:
        if name not in self._is_reshape:
            function = self.mod[name]
            is_program = isinstance(function, PrimFunc)
            self._is_reshape[name] = is_program and has_reshape_pattern(function)
        return self._is_reshape[name]
