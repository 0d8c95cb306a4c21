"""A mutator of all graph functions of a module."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.relax.expr import Function, Var, VarBinding
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
