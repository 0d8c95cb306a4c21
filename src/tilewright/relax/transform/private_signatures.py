"""Signatures of private functions: unused parameters, unused results, and tuple parameters."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import ModulePass
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
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import StructInfo, TupleStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator
from tilewright.relax.transform.private_functions import private_functions
from tilewright.relax.transform.scopes import variables_in
from tilewright.relax.visitor import bindings_of


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
        return _FieldArguments(result, chosen).module()


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
    return function.replace(params=tuple(params), body=body)


def _parameters(name: str, info: StructInfo, params: list[Var]) -> RelaxExpr:
    """A value with that struct info made of parameters, which are appended to `params`."""
    if isinstance(info, TupleStructInfo):
        fields = enumerate(info.fields)
        return Tuple([_parameters(f"{name}_{i}", field, params) for i, field in fields])
    params.append(Var(name, info))
    return params[-1]


class _FieldArguments(ModuleMutator):
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
    return _FewerArguments(result, kept).module()


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


class _FewerArguments(ModuleMutator):
    def __init__(self, mod: IRModule, kept: dict[str, list[int]]) -> None:
        super().__init__(mod)
        self._kept = kept

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        kept = self._kept.get(call.op.name_hint) if isinstance(call.op, GlobalVar) else None
        if kept is None:
            return call
        return call.replace(args=tuple(call.args[p] for p in kept), struct_info=None)


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
        return _FewerResults(result, kept).module()


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


class _FewerResults(ModuleMutator):
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
