"""A product with a transposed matrix reads the matrix as it is."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.expr import Call
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.matching import CountingMutator, is_call_of
from tilewright.te import Tensor
from tilewright.topi.precision import accumulator


class FuseTransposeMatmul(ModulePass):
    """Multiply by a transposed matrix in one tensor program.

    That is so where the transposed matrix has no other use; one of a constant is left to
    `FoldConstant`::

        before:  lv = R.permute_dims(w)
                 lv1 = R.matmul(x, lv)
        after:   lv1 = R.call_tir(cls.NT_matmul, (x, w), ...)
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Fusion(mod).module()


class _Fusion(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "matmul"):
            return call
        call = self.builder_.normalize(call)
        left, right = call.args
        transposed = self.sole_definition(right)
        if not is_call_of(transposed, "permute_dims") or not _swaps_the_last_two(transposed):
            return call
        source = transposed.args[0]
        infos = left.struct_info, source.struct_info, call.struct_info
        if not all(isinstance(i, TensorStructInfo) and i.extents is not None for i in infos):
            return call
        if not self._batches_agree(left, source):
            return call
        dtype = call.struct_info.dtype  # type: ignore[union-attr]
        wide = accumulator(dtype)

        def kernel(a: Tensor, b: Tensor) -> Tensor:
            product = topi.nn.matmul(a, b, None, str(wide), transpose_b=True)
            return product if wide is dtype else topi.cast(product, str(dtype))

        return self.builder_.call_te(kernel, left, source, primfunc_name_hint="NT_matmul")

    def _batches_agree(self, left: Any, right: Any) -> bool:
        """Whether nothing broadcasts, or only one matrix along all."""
        a, b = left.struct_info.extents[:-2], right.struct_info.extents[:-2]
        if len(left.struct_info.extents) < 2:
            return False
        same = len(a) == len(b) and all(map(self.builder_.analyzer.can_prove_equal, a, b))
        return same or not b


def _swaps_the_last_two(call: Call) -> bool:
    info = call.args[0].struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim < 2:
        return False
    axes, ndim = call.attrs["axes"], info.ndim
    if axes is None:
        return ndim == 2
    counted = [int(axis) % ndim for axis in axes]
    return counted == [*range(ndim - 2), ndim - 1, ndim - 2]
