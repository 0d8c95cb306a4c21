"""Products of one array with several weights become one product."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.expr import (
    BindingBlock,
    Constant,
    DataflowBlock,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.matching import is_call_of
from tilewright.relax.transform.module_mutator import ModuleMutator

WEIGHT_COLUMNS: Final = {"relax.matmul": 1, "relax.linear": 0}
"""The dimension of the weights that becomes that of the result."""


class CombineParallelMatmul(ModulePass):
    """Multiply by several weights at once, such as by those of the projections of an attention.

    In a dataflow block, where the weights are constant matrices with equally many rows::

        before:  q = R.matmul(x, wq)            after:  lv = R.matmul(x, R.concat((wq, wk), axis=1))
                 k = R.matmul(x, wk)                    lv1 = R.split(lv, [wq.shape[1]], axis=-1)
                                                        q = lv1[0]
                                                        k = lv1[1]
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Combination(mod).module()


class _Combination(ModuleMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._groups: dict[Var, list[VarBinding]] = {}
        """By the variable of the first of several products, all of them."""
        self._parts: dict[Var, TupleGetItem] = {}
        """What the variable of a product is bound to instead."""

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock | None:
        groups: dict[Any, list[VarBinding]] = {}
        for binding in block.bindings:
            if isinstance(binding, VarBinding) and _is_product(binding.value):
                groups.setdefault(_shared_by_group(binding.value), []).append(binding)
        self._groups.update({g[0].var: g for g in groups.values() if len(g) > 1})
        return super().visit_dataflow_block_(block)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding.var in self._groups:
            self._combine(self._groups[binding.var])
        if binding.var in self._parts:
            self.reemit_binding(binding, self._parts[binding.var])
        else:
            super().visit_var_binding_(binding)

    def _combine(self, group: list[VarBinding]) -> None:
        calls: list[Any] = [member.value for member in group]
        axis = WEIGHT_COLUMNS[calls[0].op.name]
        weights = op.concat([call.args[1] for call in calls], axis=axis)
        args = (self.visit_expr(calls[0].args[0]), self.builder_.emit(weights))
        product = self.builder_.emit(calls[0].replace(args=args, struct_info=None))
        bounds = list(accumulate(int(call.args[1].data.shape[axis]) for call in calls))
        parts = self.builder_.emit(op.split(product, bounds[:-1], axis=-1))
        self._parts.update({m.var: TupleGetItem(parts, i) for i, m in enumerate(group)})


def _is_product(value: Any) -> bool:
    """Whether `value` is the product of a variable, of at least one dimension, with a matrix."""
    if not is_call_of(value, "matmul", "linear") or not isinstance(value.args[1], Constant):
        return False
    info = value.args[0].struct_info
    is_array = isinstance(value.args[0], Var) and isinstance(info, TensorStructInfo)
    return is_array and info.ndim > 0 and len(value.args[1].data.shape) == 2


def _shared_by_group(call: Any) -> Any:
    """What products must have in common to be computed at once."""
    x, weight = call.args
    rows = weight.data.shape[1 - WEIGHT_COLUMNS[call.op.name]]
    return x, call.op, rows, str(weight.data.dtype), call.attrs.get("out_dtype")
