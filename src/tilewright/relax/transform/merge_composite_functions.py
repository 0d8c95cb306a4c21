"""Larger functions for other compilers."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import DataflowBlock, DataflowVar, Var
from tilewright.relax.transform.effects import WriteEpochs
from tilewright.relax.transform.fuse_ops_by_pattern import compiler_of, with_codegen_functions


class MergeCompositeFunctions(ModulePass):
    """Move calls of composite functions of one compiler that use each other into one function.

    The functions have the attributes ``Codegen``, the name of the compiler, and ``global_symbol``.
    Only the last value of a group is used outside of it, so no group can depend on itself.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return with_codegen_functions(mod, _groups)


def _groups(block: DataflowBlock, mod: IRModule) -> Iterator[tuple[int, ...]]:
    """The groups of calls, from the last one on as large as they can be."""
    epochs = WriteEpochs(mod).of(block.bindings)
    compilers = [compiler_of(binding.value, mod) for binding in block.bindings]
    users: dict[Var, list[int]] = {binding.var: [] for binding in block.bindings}
    for position, binding in enumerate(block.bindings):
        for node in walk(binding.value):
            if isinstance(node, Var) and node in users:
                users[node].append(position)
    taken: set[int] = set()
    for last in reversed(range(len(block.bindings))):
        if last in taken or compilers[last] is None:
            continue
        group = {last}
        # Who uses a value comes later, so one way back sees all users before the value.
        for position in reversed(range(last)):
            var = block.bindings[position].var
            if (
                position not in taken
                and compilers[position] == compilers[last]
                and epochs[position] == epochs[last]
                and isinstance(var, DataflowVar)
                and users[var]
                and group.issuperset(users[var])
            ):
                group.add(position)
        taken |= group
        yield tuple(sorted(group))
