"""Whether evaluating an expression does anything but give its value."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.relax.analysis import contains_impure_call
from tilewright.relax.expr import Call, Function, RelaxExpr


def is_pure(value: RelaxExpr, mod: IRModule) -> bool:
    """Whether `value` can be left out where nothing uses it, and computed once for two uses."""
    # An inner function has effects only where it is called.
    return isinstance(value, Function) or not contains_impure_call(value, module=mod)


def writes_arguments(value: RelaxExpr) -> bool:
    """Whether `value` is a call that writes its results over arguments."""
    return isinstance(value, Call) and "inplace_indices" in value.attrs
