"""The weights of a model become one parameter."""

from __future__ import annotations

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.expr import BindingBlock, Function, SeqExpr, TupleGetItem, Var, VarBinding
from tilewright.relax.struct_info import ObjectStructInfo, TupleStructInfo
from tilewright.relax.transform.bind_params import require_no_caller
from tilewright.relax.transform.lift_transform_params import NUM_INPUT, number_of_inputs


class BundleModelParams(ModulePass):
    """Take the weights of a function as one tuple.

    For functions with the attribute ``num_input``, the parameters after so many are weights::

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
