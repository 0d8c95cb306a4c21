"""Promises of purity are dropped, so that what follows may have effects."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.purity import FORCE_PURE, is_forced_pure
from tilewright.relax.expr import Call, Function
from tilewright.relax.op.base import (
    CALL_PURE_PACKED,
    INVOKE_CLOSURE,
    INVOKE_PURE_CLOSURE,
)
from tilewright.relax.transform.mutators import ModuleMutator


class RemovePurityChecking(ModulePass):
    """Call functions directly that are marked as pure.

    The functions get the attribute ``relax.force_pure`` instead, by which they are still known not
    to have effects. In a dataflow block, where no call may have an effect, calls stay as they are;
    `ToNonDataflow` opens these blocks::

        before:  R.call_pure_packed("f", x, sinfo_args=R.Tensor((2,)))
        after:   R.call_packed("f", x, sinfo_args=R.Tensor((2,)))
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Removal(mod).module()


class _Removal(ModuleMutator):
    def visit_function_(self, function: Function) -> Any:
        result = super().visit_function_(function)
        if not function.is_pure or is_forced_pure(function):
            return result
        return result.with_attr(FORCE_PURE, True)

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if self.builder_.in_dataflow:
            return call
        if call.op is CALL_PURE_PACKED:
            callee, *args = call.args
            return Call(callee, args, call.attrs, call.sinfo_args, call.struct_info, call.span)
        return call.replace(op=INVOKE_CLOSURE) if call.op is INVOKE_PURE_CLOSURE else call
