"""Removing what nothing uses: bindings of functions, and functions of the module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk_once
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import Binding, DataflowBlock, ExternFunc, Function, MatchCast, SeqExpr
from tilewright.relax.transform.effects import is_pure
from tilewright.relax.transform.scopes import (
    ScopeRewriter,
    sizes_by_definition,
    variables_in,
    with_bindings,
    with_blocks,
)


class DeadCodeElimination(ModulePass):
    """Remove bindings that nothing uses and functions that nothing calls.

    A call with an effect stays. So does a `match_cast` outside of dataflow blocks, which is a
    check::

        before:  with R.dataflow():             after:  with R.dataflow():
                     a = R.add(x, y)                        b = R.exp(x)
                     b = R.exp(x)                           R.output(b)
                     R.output(b)                        return b
                 return b

    Functions that are exported stay, and so do those that are called by their names.

    Args:
        entry_functions: names of functions that are called from outside; by default those that
            are exported.
    """

    def __init__(self, entry_functions: Sequence[str] | None = None) -> None:
        if isinstance(entry_functions, str):
            raise ArgumentError(
                f"DeadCodeElimination: entry_functions is a list of names, got {entry_functions!r}"
            )
        self._entries = None if entry_functions is None else tuple(entry_functions)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions: dict[GlobalVar, BaseFunc] = {
            var: remove_unused_bindings(func, mod) if isinstance(func, Function) else func
            for var, func in mod.functions.items()
        }
        result = IRModule(functions, mod.attrs, mod.global_infos)
        reachable = _reachable(result, self._entry_points(result))
        kept = {var: func for var, func in functions.items() if var.name_hint in reachable}
        if len(kept) == len(mod) and all(kept[v] is f for v, f in mod.functions.items()):
            return mod
        return IRModule(kept, mod.attrs, mod.global_infos)

    def _entry_points(self, mod: IRModule) -> list[str]:
        if self._entries is None:
            exported = [v.name_hint for v, f in mod.functions.items() if f.global_symbol]
            return exported or [var.name_hint for var in mod.functions]
        return [mod.get_global_var(name).name_hint for name in self._entries]


def _reachable(mod: IRModule, entries: Sequence[str]) -> set[str]:
    """The names of the functions that are called, directly or not, by those named."""
    found: set[str] = set()
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            function = mod[name]
        except UnknownNameError:
            continue  # a function of the registry
        found.add(name)
        for node in walk_once(function):
            if isinstance(node, GlobalVar):
                waiting.append(node.name_hint)
            elif isinstance(node, ExternFunc):
                waiting.append(node.global_symbol)
    return found


def remove_unused_bindings(function: Function, mod: IRModule) -> Function:
    """`function` without bindings that nothing uses and that have no effect."""
    return _Removal(function, mod)(function)


class _Removal(ScopeRewriter):
    """Goes through each scope from its end, and knows what has been used after each point."""

    def __init__(self, function: Function, mod: IRModule) -> None:
        self._mod = mod
        self._used: set[Any] = set()
        self._defined = sizes_by_definition(function)

    def RelaxFunction(self, function: Function) -> Function:
        result = function.map_children(self)
        self._used.update(variables_in(result.ret_struct_info))
        return result

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        self._use(seq.body)
        blocks = []
        for block in reversed(seq.blocks):
            is_dataflow = isinstance(block, DataflowBlock)
            kept = list(self._kept(block.bindings, is_dataflow))
            blocks.append(with_bindings(block, kept[::-1]))
        return with_blocks(seq, blocks[::-1])

    def _kept(self, bindings: tuple[Binding, ...], is_dataflow: bool) -> Iterator[Binding]:
        for binding in reversed(bindings):
            if not self._is_used(binding) and self._is_removable(binding, is_dataflow):
                continue
            value = self(binding.value)
            self._use(value)
            self._use(binding.var.struct_info)
            if isinstance(binding, MatchCast):
                self._use(binding.struct_info)
            yield binding if value is binding.value else binding.replace(value=value)

    def _use(self, root: Any) -> None:
        if root is not None:
            self._used.update(variables_in(root))

    def _is_used(self, binding: Binding) -> bool:
        if binding.var in self._used:
            return True
        return any(size in self._used for size in self._defined.get(binding, ()))

    def _is_removable(self, binding: Binding, is_dataflow: bool) -> bool:
        if isinstance(binding, MatchCast) and not is_dataflow:
            return False
        return is_pure(binding.value, self._mod)
