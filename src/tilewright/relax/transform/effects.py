"""Whether evaluating an expression does anything but give its value, and what that forbids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.analysis import contains_impure_call
from tilewright.relax.expr import Binding, Call, Function, RelaxExpr


def is_pure(value: RelaxExpr, mod: IRModule) -> bool:
    """Whether `value` can be left out where nothing uses it, and computed once for two uses."""
    # An inner function has effects only where it is called.
    return isinstance(value, Function) or not contains_impure_call(value, module=mod)


def writes_arguments(value: RelaxExpr) -> bool:
    """Whether `value` is a call that writes its results over arguments."""
    return isinstance(value, Call) and "inplace_indices" in value.attrs


class WriteEpochs:
    """How many calls that may write over arrays come before each binding of a block.

    What is computed in one epoch may be moved to another place of it: the arrays are the same
    there. Arrays may share memory, so it does not matter which ones such a call writes.

    Args:
        mod: the module that has the functions that are called.
    """

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._writes: dict[str, bool] = {}

    def of(self, bindings: Sequence[Binding]) -> list[int]:
        """The epoch of each binding; a call that writes belongs to the one that it ends."""
        before = itertools.accumulate((self._may_write(b.value) for b in bindings), initial=0)
        return list(itertools.islice(before, len(bindings)))

    def _may_write(self, value: RelaxExpr) -> bool:
        """Whether evaluating `value` may write over arrays."""
        return any(
            isinstance(node, Call) and (writes_arguments(node) or self._callee_writes(node.op))
            for node in walk(value)
        )

    def _callee_writes(self, callee: object) -> bool:
        if not isinstance(callee, GlobalVar) or callee not in self._mod:
            return False
        func, name = self._mod[callee], callee.name_hint
        if name not in self._writes:
            self._writes[name] = False  # as long as it is not known, for functions that call it
            self._writes[name] = isinstance(func, Function) and self._may_write(func.body)
        return self._writes[name]
