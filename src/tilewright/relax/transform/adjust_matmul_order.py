"""The order of products of three matrices."""

from __future__ import annotations

from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.expr import Call
from tilewright.relax.sizes import assume_sizes, symbolic_vars_of
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.matching import CountingMutator, constant_of, is_call_of
from tilewright.tir.substitute import substitute


class AdjustMatmulOrder(ModulePass):
    """Multiply three matrices in the order that takes fewer multiplications.

    What is computed of constants only costs nothing, because `FoldConstant` does it::

        before:  lv = R.matmul(x, a)            after:  lv = R.matmul(a, b)
                 lv1 = R.matmul(lv, b)                  lv1 = R.matmul(x, lv)

    The sums are rounded in another order, too.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Adjustment(mod).module()


class _Adjustment(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "matmul") or call.attrs:
            return call
        left, right = call.args
        inner = self.sole_definition(left)
        if is_call_of(inner, "matmul") and not inner.attrs:
            a, b = inner.args
            if self._second_first(a, b, right) is True:
                return op.matmul(a, self.builder_.emit(op.matmul(b, right)))
            return call
        inner = self.sole_definition(right)
        if is_call_of(inner, "matmul") and not inner.attrs:
            b, c = inner.args
            if self._second_first(left, b, c) is False:
                return op.matmul(self.builder_.emit(op.matmul(left, b)), c)
        return call

    def _second_first(self, a: Any, b: Any, c: Any) -> bool | None:
        """Whether the product of `b` and `c` comes first; None if that is not known."""
        shapes = [_matrix(value) for value in (a, b, c)]
        if any(shape is None for shape in shapes):
            return None
        (m, k), (_, n), (_, p) = shapes  # type: ignore[misc]
        zero = as_expr(0, INT64)
        fixed = [constant_of(self.builder_, value) is not None for value in (a, b, c)]
        first = zero if fixed[0] and fixed[1] else m * k * n
        second = zero if fixed[1] and fixed[2] else k * n * p
        left, right = first + m * n * p, second + m * k * p
        if _is_always_less(right, left):
            return True
        return False if _is_always_less(left, right) else None


def _is_always_less(a: Expr, b: Expr) -> bool:
    """Whether `a` is less than `b` for all sizes but 0, for which it does not matter."""
    sizes = {size: size + 1 for size in (*symbolic_vars_of(a), *symbolic_vars_of(b))}
    analyzer = Analyzer()
    assume_sizes(analyzer, sizes)
    return analyzer.can_prove(substitute(a, sizes) < substitute(b, sizes))


def _matrix(value: Any) -> tuple[Expr, ...] | None:
    info = value.struct_info
    if not isinstance(info, TensorStructInfo) or info.extents is None or info.ndim != 2:
        return None
    return info.extents
