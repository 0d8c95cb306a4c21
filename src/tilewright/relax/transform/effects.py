"""Whether evaluating an expression does anything but give its value, and what that forbids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.analysis import contains_impure_call
from tilewright.relax.expr import Binding, Call, Function, RelaxExpr, Var
from tilewright.relax.op.table import operator_of
from tilewright.relax.visitor import bindings_of


def is_pure(value: RelaxExpr, mod: IRModule) -> bool:
    """Whether `value` can be left out where nothing uses it, and computed once for two uses."""
    # An inner function has effects only where it is called.
    return isinstance(value, Function) or not contains_impure_call(value, module=mod)


def writes_arguments(value: RelaxExpr) -> bool:
    """Whether `value` is a call that writes its results over arguments."""
    return isinstance(value, Call) and "inplace_indices" in value.attrs


class WriteEpochs:
    """Number of calls that may overwrite arrays before each binding of a block.

    Computations may move within an epoch, where the arrays stay the same. Arrays may share memory,
    so it does not matter which ones such a call writes.
    """

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod

    def of(self, bindings: Sequence[Binding]) -> list[int]:
        """The epoch of each binding; a call that writes belongs to the one that it ends."""
        before = itertools.accumulate((self._may_write(b.value) for b in bindings), initial=0)
        return list(itertools.islice(before, len(bindings)))

    def written_arrays(self, function: Function) -> set[Var]:
        """Variables whose arrays a call in `function` may overwrite, through aliases too."""
        bindings = bindings_of(function)
        written: set[Var] = set()
        for binding in reversed(bindings):
            value = binding.value
            if isinstance(value, Call):
                entry = operator_of(value)
                is_view = entry is not None and entry.is_view
                if self._writes(value) or (is_view and binding.var in written):
                    written.update(node for node in walk(value) if isinstance(node, Var))
            elif binding.var in written:
                written.update(node for node in walk(value) if isinstance(node, Var))
        return written

    def _writes(self, call: Call) -> bool:
        return writes_arguments(call) or self._callee_writes(call.op)

    def _may_write(self, value: RelaxExpr) -> bool:
        """Whether evaluating `value` may write over arrays."""
        return any(isinstance(node, Call) and self._writes(node) for node in walk(value))

    def _callee_writes(self, callee: object) -> bool:
        return isinstance(callee, GlobalVar) and callee.name_hint in self._writing_functions

    @cached_property
    def _writing_functions(self) -> set[str]:
        """The names of graph functions that write over arrays, or call one that does."""
        callers: dict[str, set[str]] = {}
        waiting: list[str] = []
        for name, function in self._mod.functions.items():
            for node in walk(function) if isinstance(function, Function) else ():
                if isinstance(node, Call) and isinstance(node.op, GlobalVar):
                    callers.setdefault(node.op.name_hint, set()).add(name.name_hint)
                elif isinstance(node, Call) and writes_arguments(node):
                    waiting.append(name.name_hint)
        found: set[str] = set()
        while waiting:
            name_of_writer = waiting.pop()
            if name_of_writer not in found:
                found.add(name_of_writer)
                waiting += callers.get(name_of_writer, ())
        return found
