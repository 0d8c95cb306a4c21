"""Mutators of all graph functions of a module, and recognition of calls and definitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.relax.analysis.variables import definition
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, Constant, Function, Var, VarBinding
from tilewright.relax.mutator import PyExprMutator
from tilewright.relax.transform.effects import WriteEpochs


class ModuleMutator(PyExprMutator):
    """Rewrites the graph functions of a module, one after the other.

    Args:
        mod: the module.
    """

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.mod = mod

    def module(self, func_name: str | None = None) -> IRModule:
        """The module with its functions rewritten; the same one if nothing changed.

        Args:
            func_name: the function that is rewritten; by default all.
        """
        is_same = True
        chosen = None if func_name is None else self.mod.get_global_var(func_name)
        for name, function in self.mod.functions.items():
            if isinstance(function, Function) and chosen in (None, name):
                changed = self.visit_expr(function)
                if changed is not function:
                    is_same = False
                    self.builder_.update_func(name, changed)
        return self.mod if is_same else self.builder_.get()


class ViewMutator(ModuleMutator):
    """A mutator that replaces copies by views of other arrays, where it may.

    Attributes:
        keeps: whether the value that is being visited must stay an array of its own, because a
            call may write over it.
    """

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.keeps = False
        self._written: set[Var] = set()

    def visit_function_(self, function: Function) -> Any:
        if not self.builder_.is_in_body:
            self._written = WriteEpochs(self.mod).written_arrays(function)
        return super().visit_function_(function)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.keeps = binding.var in self._written
        super().visit_var_binding_(binding)


def is_call_of(expr: object, *names: str) -> bool:
    """Whether `expr` is a call of one of these operators, such as ``"nn.conv2d"``."""
    return (
        isinstance(expr, Call)
        and isinstance(expr.op, Op)
        and expr.op.name.removeprefix("relax.") in names
    )


def constant_of(builder: BlockBuilder, value: Any) -> Constant | None:
    """The constant that an operand is; None for another value."""
    found = definition(builder.lookup_usable, value)
    return found if isinstance(found, Constant) else None


def uses_of_variables(function: Function) -> Counter[Var]:
    """How often each variable of a function is used."""
    return Counter(node for node in walk(function.body) if isinstance(node, Var))


class CountingMutator(ModuleMutator):
    """A mutator that knows how often each variable of the function is used."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._uses: Counter[Var] = Counter()
        self._originals: dict[Var, Var] = {}

    def visit_function_(self, function: Function) -> Any:
        if not self.builder_.is_in_body:
            self._uses = uses_of_variables(function)
        return super().visit_function_(function)

    def set_var_remap(self, vid: Var, var: Any) -> None:
        super().set_var_remap(vid, var)
        if isinstance(var, Var):
            self._originals[var] = self._originals.get(vid, vid)

    def sole_definition(self, value: Any) -> Any:
        """What an operand is bound to, if nothing else uses it, and it can be computed here."""
        while isinstance(value, Var):
            if self._uses[self._originals.get(value, value)] != 1:
                return None
            value = self.builder_.lookup_usable(value)
        return value
