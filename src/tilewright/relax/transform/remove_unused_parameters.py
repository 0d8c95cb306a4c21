"""Private functions lose the parameters that they do not use."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.expr import Call, Function, Var
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.transform.module_mutator import ModuleMutator
from tilewright.relax.transform.private_functions import private_functions
from tilewright.relax.transform.scopes import variables_in


class RemoveUnusedParameters(ModulePass):
    """Do not pass what a private function does not use.

    A parameter stays if only its shape says a symbolic size that is used::

        before:  def f(a, b):                   after:  def f(a):
                     return R.exp(a)                        return R.exp(a)
                 ... = cls.f(x, y)                      ... = cls.f(x)
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        while True:  # a parameter may have been used as an argument that nobody takes any more
            result = _without_unused(mod)
            if result is mod:
                return mod
            mod = result


def _without_unused(mod: IRModule) -> IRModule:
    kept = {name: _used(function) for name, function in private_functions(mod).items()}
    kept = {n: used for n, used in kept.items() if len(used) < len(mod[n].params)}
    if not kept:
        return mod
    result = mod.clone()
    for name, used in kept.items():
        params = tuple(mod[name].params[position] for position in used)
        result.update_func(mod.get_global_var(name), mod[name].replace(params=params))
    return _Calls(result, kept).module()


def _used(function: Function) -> list[int]:
    """The positions of the parameters that are needed."""
    used: set[Any] = set(variables_in(function.body))
    if function.ret_struct_info is not None:
        used.update(variables_in(function.ret_struct_info))
    kept = [position for position, param in enumerate(function.params) if param in used]
    sizes = {size for size in used if isinstance(size, ScalarVar)}
    sizes |= {s for position in kept for s in _sizes(function.params[position])}
    for position in kept:  # some sizes are said by what stays in any case
        sizes -= set(_sizes(function.params[position], alone=True))
    for position, param in enumerate(function.params):
        found = sizes & set(_sizes(param, alone=True))
        if position not in kept and found:
            kept.append(position)
            sizes -= found
    return sorted(kept) if not sizes & _all_sizes(function) else [*range(len(function.params))]


def _sizes(param: Var, alone: bool = False) -> list[ScalarVar]:
    """The sizes in the struct info of a parameter; `alone`: those that it gives values to."""
    if param.struct_info is None:
        return []
    if not alone:
        return symbolic_vars_of(param.struct_info)
    extents = getattr(param.struct_info, "extents", None) or ()
    return [extent for extent in extents if isinstance(extent, ScalarVar)]


def _all_sizes(function: Function) -> set[ScalarVar]:
    return {size for param in function.params for size in _sizes(param)}


class _Calls(ModuleMutator):
    def __init__(self, mod: IRModule, kept: dict[str, list[int]]) -> None:
        super().__init__(mod)
        self._kept = kept

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        kept = self._kept.get(call.op.name_hint) if isinstance(call.op, GlobalVar) else None
        if kept is None:
            return call
        return call.replace(args=tuple(call.args[p] for p in kept), struct_info=None)
