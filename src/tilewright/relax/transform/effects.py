"""Whether evaluating an expression does anything but give its value."""

from __future__ import annotations

from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.relax.expr import Call, Function, If, RelaxExpr, SeqExpr
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import FuncStructInfo


def is_pure(value: RelaxExpr, mod: IRModule) -> bool:
    """Whether `value` can be left out where nothing uses it, and computed once for two uses."""
    if isinstance(value, Call):
        return _is_pure_call(value, mod)
    if isinstance(value, If):
        return is_pure(value.true_branch, mod) and is_pure(value.false_branch, mod)
    if isinstance(value, SeqExpr):
        bindings = (binding for block in value.blocks for binding in block.bindings)
        return all(is_pure(binding.value, mod) for binding in bindings)
    return True  # a leaf, a field of a tuple, or the definition of a function


def _is_pure_call(call: Call, mod: IRModule) -> bool:
    entry = operator_of(call)
    if entry is not None:
        return entry.is_pure
    if isinstance(call.op, GlobalVar):
        callee = mod.functions.get(call.op)
        return isinstance(callee, Function) and callee.is_pure
    info = getattr(call.op, "struct_info", None)
    return isinstance(info, FuncStructInfo) and info.purity


def writes_arguments(value: RelaxExpr) -> bool:
    """Whether `value` is a call that writes its results over arguments."""
    return isinstance(value, Call) and "inplace_indices" in value.attrs
