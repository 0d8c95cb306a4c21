"""Passes that set attributes of modules and functions: names, external modules, purity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.functions import FORCE_PURE, is_forced_pure
from tilewright.relax.expr import Call, ExternFunc, Function
from tilewright.relax.op.base import CALL_PURE_PACKED, INVOKE_CLOSURE, INVOKE_PURE_CLOSURE
from tilewright.relax.scope import Names
from tilewright.relax.transform.function_pass import ModuleMutator


class AttachGlobalSymbol(ModulePass):
    """Make the symbol of each exported function the name that the module has for it.

    Private functions, which have no symbol, stay so.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        changed = {
            name: function.with_attr("global_symbol", name.name_hint)
            for name, function in mod.functions.items()
            if function.global_symbol not in (None, name.name_hint)
        }
        if not changed:
            return mod
        return IRModule({**mod.functions, **changed}, mod.attrs, mod.global_infos)


class NormalizeGlobalVar(ModulePass):
    """Make the name that the module has for each exported function its symbol.

    A private function of that name gets another one; calls follow. `AttachGlobalSymbol` does it the
    other way round::

        before:  {"f": a function with the symbol "main", "main": a private function}
        after:   {"main": that function, "main1": the private one}
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        names = _names_of(mod)
        if all(old == new for old, new in names.items()):
            return mod
        rename = _Renaming(names)
        functions = {GlobalVar(names[v.name_hint]): rename(f) for v, f in mod.functions.items()}
        return IRModule(functions, mod.attrs, mod.global_infos)


def _names_of(mod: IRModule) -> dict[str, str]:
    """The name that each function gets, by the one that it has."""
    unique = Names()
    symbols = {v.name_hint: f.global_symbol for v, f in mod.functions.items()}
    owners: dict[str, str] = {}
    for name, symbol in symbols.items():
        if symbol in owners:
            raise ArgumentError(f"{owners[symbol]} and {name} both have the symbol {symbol!r}")
        if symbol is not None:
            unique.reserve(symbol)
            owners[symbol] = name
    return {name: symbol or unique.unique(name) for name, symbol in symbols.items()}


class _Renaming(Rewriter):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def GlobalVar(self, var: GlobalVar) -> GlobalVar:
        name = self._names.get(var.name_hint, var.name_hint)
        return var if name == var.name_hint else GlobalVar(name)

    def ExternFunc(self, function: ExternFunc) -> Any:
        name = self._names.get(function.global_symbol, function.global_symbol)
        return function if name == function.global_symbol else function.replace(global_symbol=name)


class AttachExternModules(ModulePass):
    """Load external modules, whose functions are registered under their names.

    The module stays as it is. A process that loads a library that was exported from it loads them
    too, by their method `load`::

        mod, params, externs = model.export_tvm(spec, allow_extern=True)
        mod = relax.transform.AttachExternModules(externs)(mod)

    Args:
        extern_modules: what ``export_tvm(spec, allow_extern=True)`` returned.
    """

    def __init__(self, extern_modules: Sequence[Any]) -> None:
        for module in extern_modules:
            if not callable(getattr(module, "load", None)):
                raise ArgumentError(
                    f"AttachExternModules: expected nn.ExternModule objects, got {module!r}"
                )
        self._modules = list(extern_modules)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for module in self._modules:
            module.load()
        return mod


class RemovePurityChecking(ModulePass):
    """Call functions directly that are marked as pure.

    The functions get the attribute ``relax.force_pure`` instead, by which they are still known not
    to have effects. In a dataflow block, where no call may have an effect, calls stay as they are;
    `ToNonDataflow` opens these blocks::

        before:  R.call_pure_packed("f", x, sinfo_args=R.Tensor((2,)))
        after:   R.call_packed("f", x, sinfo_args=R.Tensor((2,)))
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Removal(mod).module()


class _Removal(ModuleMutator):
    def visit_function_(self, function: Function) -> Any:
        result = super().visit_function_(function)
        if not function.is_pure or is_forced_pure(function):
            return result
        return result.with_attr(FORCE_PURE, True)

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if self.builder_.in_dataflow:
            return call
        if call.op is CALL_PURE_PACKED:
            callee, *args = call.args
            return Call(callee, args, call.attrs, call.sinfo_args, call.struct_info, call.span)
        return call.replace(op=INVOKE_CLOSURE) if call.op is INVOKE_PURE_CLOSURE else call
