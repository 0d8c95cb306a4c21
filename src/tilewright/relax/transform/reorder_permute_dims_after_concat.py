"""Arrays are joined before they are transposed."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.matching import CountingMutator, is_call_of


class ReorderPermuteDimsAfterConcat(ModulePass):
    """Transpose the join of arrays instead of each array.

    So the transposition stands next to what uses it::

        before:  lv = R.concat((R.permute_dims(a), R.permute_dims(b)), axis=1)
        after:   lv = R.permute_dims(R.concat((a, b), axis=0))
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Reordering(mod).module()


class _Reordering(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "concat"):
            return call
        whole = definition(self.builder_.lookup_usable, call.args[0])
        if not isinstance(whole, Tuple) or not whole.fields:
            return call
        parts = [self.sole_definition(field) for field in whole.fields]
        axes = [_axes_of(part) for part in parts]
        if axes[0] is None or any(other != axes[0] for other in axes):
            return call
        joined = op.concat([part.args[0] for part in parts], axis=axes[0][int(call.attrs["axis"])])
        return op.permute_dims(joined, axes[0])


def _axes_of(part: Any) -> list[int] | None:
    """The axes of a transposition, counted from the front; None for another expression."""
    if not is_call_of(part, "permute_dims"):
        return None
    info = part.args[0].struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim < 0:
        return None
    axes = part.attrs["axes"]
    return [*range(info.ndim)][::-1] if axes is None else [int(a) % info.ndim for a in axes]
