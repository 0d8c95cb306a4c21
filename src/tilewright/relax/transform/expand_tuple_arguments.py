"""Private functions take the fields of tuples instead of the tuples."""

from __future__ import annotations

from typing import Any

from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Function,
    RelaxExpr,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.struct_info import StructInfo, TupleStructInfo
from tilewright.relax.transform.module_mutator import ModuleMutator
from tilewright.relax.transform.private_functions import private_functions
from tilewright.relax.transform.scopes import with_joined_blocks


class ExpandTupleArguments(ModulePass):
    """Pass each field of a tuple to a private function as an argument of its own.

    ::

        before:  def f(t: R.Tuple(R.Tensor((2,)), R.Tensor((3,)))): ...
        after:   def f(t_0: R.Tensor((2,)), t_1: R.Tensor((3,))):
                     t = (t_0, t_1)
                     ...
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        chosen = {
            name: function
            for name, function in private_functions(mod).items()
            if any(isinstance(param.struct_info, TupleStructInfo) for param in function.params)
        }
        if not chosen:
            return mod
        result = mod.clone()
        for name, function in chosen.items():
            result.update_func(mod.get_global_var(name), _with_fields(function))
        return _Calls(result, chosen).module()


def _with_fields(function: Function) -> Function:
    """`function` with parameters for the fields; the tuples are made of them at its beginning."""
    params: list[Var] = []
    bindings: list[Binding] = []
    for param in function.params:
        if isinstance(param.struct_info, TupleStructInfo):
            whole = _parameters(param.name_hint, param.struct_info, params)
            bindings.append(VarBinding(param, whole))
        else:
            params.append(param)
    body = function.body
    assert isinstance(body, SeqExpr)
    body = body.replace(blocks=(BindingBlock(tuple(bindings)), *body.blocks))
    return with_joined_blocks(function.replace(params=tuple(params), body=body))


def _parameters(name: str, info: StructInfo, params: list[Var]) -> RelaxExpr:
    """A value with that struct info made of parameters, which are appended to `params`."""
    if isinstance(info, TupleStructInfo):
        fields = enumerate(info.fields)
        return Tuple([_parameters(f"{name}_{i}", field, params) for i, field in fields])
    params.append(Var(name, info))
    return params[-1]


class _Calls(ModuleMutator):
    def __init__(self, mod: IRModule, before: dict[str, Function]) -> None:
        super().__init__(mod)
        self._before = before

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        before = self._before.get(call.op.name_hint) if isinstance(call.op, GlobalVar) else None
        if before is None:
            return call
        args: list[RelaxExpr] = []
        for param, argument in zip(before.params, call.args, strict=True):
            self._append(argument, param.struct_info, args)
        return call.replace(args=tuple(args), struct_info=None)

    def _append(self, value: Any, info: StructInfo | None, args: list[RelaxExpr]) -> None:
        if not isinstance(info, TupleStructInfo):
            args.append(value)
            return
        for index, field in enumerate(info.fields):
            whole = isinstance(value, Tuple)
            part = value.fields[index] if whole else TupleGetItem(value, index)
            self._append(self.builder_.normalize_argument(part), field, args)
