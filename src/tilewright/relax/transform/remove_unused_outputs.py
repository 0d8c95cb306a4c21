"""Private functions lose the results that nobody uses."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.struct_info import TupleStructInfo
from tilewright.relax.transform.module_mutator import ModuleMutator
from tilewright.relax.transform.private_functions import private_functions
from tilewright.relax.visitor import bindings_of


class RemoveUnusedOutputs(ModulePass):
    """Do not return the fields of a tuple that no caller takes.

    ::

        before:  def f(a):                      after:  def f(a):
                     return (R.exp(a), a)                   return (R.exp(a),)
                 ... = cls.f(x)[0]                      ... = cls.f(x)[0]
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        used = _used_fields(mod)
        kept: dict[str, list[int]] = {}
        for name, function in private_functions(mod).items():
            info, fields = function.ret_struct_info, used.get(name)
            if isinstance(info, TupleStructInfo) and fields and len(fields) < len(info.fields):
                kept[name] = sorted(fields)
        if not kept:
            return mod
        result = mod.clone()
        for name, fields in kept.items():
            result.update_func(mod.get_global_var(name), _with_results(mod[name], fields))
        return _Calls(result, kept).module()


def _used_fields(mod: IRModule) -> dict[str, set[int]]:
    """For each function those fields of its result that callers take; no entry for all of them."""
    taken: dict[str, set[int]] = {}
    as_a_whole: set[str] = set()
    for function in mod.functions.values():
        if not isinstance(function, Function):
            continue
        results = _results_of_calls(function)
        uses: Counter[Var] = Counter(node for node in walk(function.body) if isinstance(node, Var))
        fields: Counter[Var] = Counter()
        for node in walk(function.body):
            if isinstance(node, TupleGetItem) and node.tuple_value in results:
                fields[node.tuple_value] += 1  # type: ignore[index]
                taken.setdefault(results[node.tuple_value], set()).add(node.index)  # type: ignore[index]
        as_a_whole |= {name for var, name in results.items() if uses[var] > fields[var]}
    return {name: fields for name, fields in taken.items() if name not in as_a_whole}


def _results_of_calls(function: Function) -> dict[Var, str]:
    """For the variables that are results of functions of the module, the names of those."""
    return {
        binding.var: binding.value.op.name_hint
        for binding in bindings_of(function)
        if isinstance(binding.value, Call) and isinstance(binding.value.op, GlobalVar)
    }


def _with_results(function: Function, fields: list[int]) -> Function:
    """`function` with these fields of its result only."""
    body, info = function.body, function.ret_struct_info
    assert isinstance(body, SeqExpr)
    assert isinstance(info, TupleStructInfo)
    blocks = body.blocks
    if isinstance(body.body, Tuple):
        result = Tuple([body.body.fields[index] for index in fields])
    else:
        values = [TupleGetItem(body.body, index) for index in fields]
        new = [VarBinding(Var(f"out{i}", v.struct_info), v) for i, v in enumerate(values)]
        blocks = (*blocks, BindingBlock(tuple(new)))
        result = Tuple([binding.var for binding in new])
    ret = TupleStructInfo([info.fields[index] for index in fields])
    return function.replace(
        body=body.replace(blocks=blocks, body=result, struct_info=ret), ret_struct_info=ret
    )


class _Calls(ModuleMutator):
    def __init__(self, mod: IRModule, kept: dict[str, list[int]]) -> None:
        super().__init__(mod)
        self._kept = kept
        self._results: dict[Var, list[int]] = {}

    def visit_binding(self, binding: Binding) -> None:
        super().visit_binding(binding)
        callee = getattr(binding.value, "op", None)
        if isinstance(callee, GlobalVar) and callee.name_hint in self._kept:
            self._results[self.get_var_remap(binding.var)] = self._kept[callee.name_hint]

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if isinstance(call.op, GlobalVar) and call.op.name_hint in self._kept:
            return call.replace(struct_info=None)
        return call

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> Any:
        value = self.visit_expr(expr.tuple_value)
        fields = self._results.get(value) if isinstance(value, Var) else None
        if fields is None:
            return super().visit_tuple_getitem_(expr)
        return TupleGetItem(value, fields.index(expr.index), None, expr.span)
