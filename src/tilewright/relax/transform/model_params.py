"""Weights of a model: lifting their computation, bundling them, and changing their struct info."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.convert import attributes
from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo
from tilewright.relax.transform.bind_params import require_no_caller
from tilewright.relax.transform.function_pass import ModuleMutator, is_pure
from tilewright.relax.transform.scopes import Substitution, variables_in, with_bindings, with_blocks

NUM_INPUT: Final = "num_input"
"""Attribute of a function: number of parameters before the weights."""


class LiftTransformParams(ModulePass):
    """Compute what depends on weights only in a function that is called once.

    For functions with the attribute ``num_input``, the parameters after the first `num_input` are
    weights. The new function takes them as one tuple, and returns the values that replace them::

        before:  def main(x, w):                after:  def main(x, lv):
                     R.func_attr({"num_input": 1})          return R.matmul(x, lv)
                     lv = R.permute_dims(w)
                     return R.matmul(x, lv)             def main_transform_params(params):
                                                            w = params[0]
                                                            lv = R.permute_dims(w)
                                                            return (lv,)
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result = mod.clone()
        for name, function in mod.functions.items():
            if isinstance(function, Function) and NUM_INPUT in function.attrs:
                other = GlobalVar(f"{name.name_hint}_transform_params")
                if other in mod:
                    raise ArgumentError(f"the module has a function {other.name_hint!r} already")
                changed, lifted = _lifted(function, mod, other.name_hint)
                result.update_func(name, changed)
                result.update_func(other, lifted)
        return mod if len(result) == len(mod) else result


def number_of_inputs(function: Function) -> int:
    """Number of parameters before the weights, by the attribute of a function."""
    count = int(getattr(function.attrs[NUM_INPUT], "value", -1))
    if not 0 <= count <= len(function.params):
        raise ArgumentError(f"num_input is {count}, of {len(function.params)} parameters")
    return count


def _lifted(function: Function, mod: IRModule, name: str) -> tuple[Function, Function]:
    count = number_of_inputs(function)
    inputs, weights = function.params[:count], function.params[count:]
    body = function.body
    assert isinstance(body, SeqExpr)
    bindings = list(_of_weights(body, weights, mod))
    results = _used_by_the_rest(function, set(bindings), [*weights, *(b.var for b in bindings)])
    params = {var: Var(var.name_hint, var.struct_info, var.span) for var in results}
    rest = function.replace(params=(*inputs, *params.values()), body=_without(body, set(bindings)))
    return Substitution(params)(rest), _transformation(weights, bindings, results, name)


def _of_weights(body: SeqExpr, weights: tuple[Var, ...], mod: IRModule) -> Iterator[Binding]:
    """Bindings that depend on weights alone, directly or not."""
    known: set[Any] = set(weights)
    for weight in weights:
        if weight.struct_info is not None:
            known.update(symbolic_vars_of(weight.struct_info))
    for block in body.blocks:
        for binding in block.bindings:
            used = set(variables_in(binding))
            if (
                isinstance(binding, VarBinding)
                and not isinstance(binding.value, (If, Function))
                and any(isinstance(variable, Var) for variable in used)
                and used <= known
                and is_pure(binding.value, mod)
            ):
                known.add(binding.var)
                yield binding


def _used_by_the_rest(function: Function, lifted: set[Binding], candidates: list[Var]) -> list[Var]:
    body = function.body
    assert isinstance(body, SeqExpr)
    used: set[Any] = set(variables_in(body.body))
    for block in body.blocks:
        for binding in block.bindings:
            if binding not in lifted:
                used.update(variables_in(binding))
    return [var for var in candidates if var in used]


def _without(body: SeqExpr, lifted: set[Binding]) -> SeqExpr:
    blocks = [
        with_bindings(block, [b for b in block.bindings if b not in lifted])
        for block in body.blocks
    ]
    return with_blocks(body, blocks)


def _transformation(
    weights: tuple[Var, ...], bindings: list[Binding], results: list[Var], name: str
) -> Function:
    """The function that takes a tuple of the weights and gives the `results`."""
    infos = [weight.struct_info for weight in weights]
    whole = Var("params", TupleStructInfo(infos))  # type: ignore[arg-type]
    fields = [VarBinding(w, TupleGetItem(whole, i)) for i, w in enumerate(weights)]
    # Variables of a dataflow block cannot be returned, so that the block is an ordinary one.
    plain = {b.var: Var(b.var.name_hint, b.var.struct_info) for b in bindings}
    moved = [b.replace(var=plain[b.var], value=Substitution(plain)(b.value)) for b in bindings]
    result = Tuple([plain.get(var, var) for var in results])
    block = BindingBlock((*fields, *moved))
    assert result.struct_info is not None
    body = SeqExpr((block,), result, result.struct_info)
    attrs = attributes({"global_symbol": name})
    function = Function((whole,), body, result.struct_info, attrs=attrs)
    sizes = {s: ScalarVar(s.name, s.dtype) for s in symbolic_vars_of(whole.struct_info)}  # type: ignore[arg-type]
    return Substitution(None, sizes, fresh=True)(function)


class BundleModelParams(ModulePass):
    """Take the weights of a function as one tuple.

    For functions with the attribute ``num_input``, the parameters after the first `num_input` are
    weights::

        before:  def main(x, w, b):             after:  def main(x, model_params):
                     R.func_attr({"num_input": 1})          w = model_params[0]
                     ...                                    b = model_params[1]
                                                            ...

    Args:
        param_tuple_name: the name of the new parameter.
    """

    def __init__(self, param_tuple_name: str | None = None) -> None:
        self._name = param_tuple_name or "model_params"

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result, is_same = mod.clone(), True
        for name, function in mod.functions.items():
            if isinstance(function, Function) and NUM_INPUT in function.attrs:
                bundled = _bundled(function, self._name)
                if bundled is not function:
                    require_no_caller(mod, name.name_hint)
                    result.update_func(name, bundled)
                    is_same = False
        return mod if is_same else result


def _bundled(function: Function, name: str) -> Function:
    count = number_of_inputs(function)
    inputs, weights = function.params[:count], function.params[count:]
    if len(weights) == 1 and isinstance(weights[0].struct_info, TupleStructInfo):
        return function  # they are one tuple already
    whole = Var(name, TupleStructInfo([w.struct_info or ObjectStructInfo() for w in weights]))
    fields = [VarBinding(w, TupleGetItem(whole, i)) for i, w in enumerate(weights)]
    body = function.body
    assert isinstance(body, SeqExpr)
    blocks = (BindingBlock(tuple(fields)), *body.blocks) if fields else body.blocks
    return function.replace(params=(*inputs, whole), body=body.replace(blocks=blocks))


class UpdateParamStructInfo(ModulePass):
    """Change the struct info of parameters, and infer that of the bindings again.

    ::

        before:  def main(x: R.Tensor((4,), "float32")):
                     lv: R.Tensor((4,), "float32") = R.exp(x)
        after:   def main(x: R.Tensor((4,), "float16")):
                     lv: R.Tensor((4,), "float16") = R.exp(x)

    Args:
        sinfo_func: from a parameter to its new struct info; None to keep it.
    """

    def __init__(self, sinfo_func: Callable[[Var], StructInfo | None]) -> None:
        if not callable(sinfo_func):
            raise ArgumentError(
                "UpdateParamStructInfo: sinfo_func is a function of a parameter, got "
                f"{sinfo_func!r}"
            )
        self._sinfo_func = sinfo_func

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Update(mod, self._sinfo_func).module()


class _Update(ModuleMutator):
    def __init__(self, mod: IRModule, sinfo_func: Callable[[Var], StructInfo | None]) -> None:
        super().__init__(mod)
        self._sinfo_func = sinfo_func

    def begin_function(self, function: Function) -> Function:
        params = tuple(map(self._updated, function.params))
        if any(new is not old for new, old in zip(params, function.params, strict=True)):
            function = function.replace(params=params)
        return function

    def _updated(self, param: Var) -> Var:
        info = self._sinfo_func(param)
        if info is None or info is param.struct_info:
            return param
        if not isinstance(info, StructInfo):
            raise ArgumentError(f"the struct info of {param.name_hint!r} cannot be {info!r}")
        return self.with_struct_info(param, info)
