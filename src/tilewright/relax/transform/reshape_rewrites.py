"""Rewrites of reshapes and transpositions."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis.reshape_pattern import has_reshape_pattern
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.op.conversion import MOVES
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import CountingMutator, ViewMutator, is_call_of
from tilewright.tir.function import PrimFunc


class RemoveRedundantReshape(ModulePass):
    """Remove a reshape that another one follows, and one to the shape that the array has.

    So are `expand_dims`, `squeeze` and `flatten`. Arrays that are overwritten later stay::

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
    return entry is not None and entry.is_view and entry.op not in MOVES


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
