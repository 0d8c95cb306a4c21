"""A product with a sum becomes a sum of products."""

from __future__ import annotations

from typing import Any

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.ir.structural import structural_equal
from tilewright.relax import op
from tilewright.relax.analysis import computable_at_compile_time
from tilewright.relax.expr import Call, Constant, Function
from tilewright.relax.transform.matching import CountingMutator, is_call_of


class ExpandMatmulOfSum(ModulePass):
    """Multiply by both summands of a matrix instead of by the sum.

    With `DeadCodeElimination` and `AdjustMatmulOrder` after it, a correction of low rank is never
    made a whole matrix::

        before:  lv = R.matmul(a, b)            after:  lv1 = R.matmul(x, w)
                 lv1 = R.add(w, lv)                     lv2 = R.matmul(x, R.matmul(a, b))
                 lv2 = R.matmul(x, lv1)                 lv3 = R.add(lv1, lv2)

    A sum of constants, or of weights (see `computable_at_compile_time`), stays, because it is
    computed once. The products are rounded in another way, too.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Expansion(mod).module()


class _Expansion(CountingMutator):
    def visit_function_(self, function: Function) -> Any:
        if not self.builder_.is_in_body:
            self._computed_before = set(computable_at_compile_time(function))
        return super().visit_function_(function)

    def visit_call_(self, call: Call) -> Any:
        is_known = bool(call.args) and call.args[-1] in self._computed_before
        call = super().visit_call_(call)
        if is_known or not is_call_of(call, "matmul"):
            return call
        left, right = call.args
        total = self.sole_definition(right)
        if not is_call_of(total, "add") or not self._may_be_taken_apart(total):
            return call
        products = [
            self.builder_.emit(call.replace(args=(left, part), struct_info=None))
            for part in total.args
        ]
        return op.add(*products)

    def _may_be_taken_apart(self, total: Call) -> bool:
        """Whether both summands have the shape of the sum, and are not known beforehand."""
        if all(isinstance(part, Constant) for part in total.args):
            return False
        infos = [self.builder_.normalize(value).struct_info for value in (*total.args, total)]
        return all(structural_equal(info, infos[-1]) for info in infos)
