"""Transcendental functions by their faster versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright import topi
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.module_mutator import ModuleMutator


class FastMathTransform(ModulePass):
    """Compute exp, tanh, erf and softmax by `topi.fast_exp` and so on.

    Other operators stay as they are.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Replacement(mod).module()


def _fast(function: Callable[..., Any], *attrs: str) -> Callable[[BlockBuilder, Call], Any]:
    """A legalisation by `function`, which takes these attributes of the operator, too."""

    def legalize(builder: BlockBuilder, call: Call) -> Any:
        values = [call.attrs[name] for name in attrs]
        return builder.call_te(function, *call.args, *values, primfunc_name_hint=function.__name__)

    return legalize


FAST: Final = {
    "relax.exp": _fast(topi.fast_exp),
    "relax.tanh": _fast(topi.fast_tanh),
    "relax.erf": _fast(topi.fast_erf),
    "relax.nn.softmax": _fast(topi.nn.fast_softmax, "axis"),
}
"""The faster version of each operator that has one."""


class _Replacement(ModuleMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        fast = FAST.get(call.op.name) if isinstance(call.op, Op) else None
        if fast is None:
            return call
        call = self.builder_.normalize(call)
        info = call.args[0].struct_info
        known = isinstance(info, TensorStructInfo) and info.ndim >= 0 and info.dtype is not None
        return fast(self.builder_, call) if known else call
