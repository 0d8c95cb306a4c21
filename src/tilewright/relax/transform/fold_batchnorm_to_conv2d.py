"""The factor of a normalisation after a convolution becomes part of the weights."""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax import op
from tilewright.relax.expr import Call, RelaxExpr, Tuple
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.decompose_ops import along_axis, scale_and_shift
from tilewright.relax.transform.matching import (
    CountingMutator,
    constant_of,
    is_call_of,
)

CONVOLUTIONS: Final = ("nn.conv1d", "nn.conv2d", "nn.conv3d")


class FoldBatchnormToConv2D(ModulePass):
    """Multiply weights by what a `batch_norm` right after the convolution multiplies its result by.

    That is so where the weights and the parameters are constants, in inference::

        before:  lv = R.nn.conv2d(x, w)
                 lv1 = R.nn.batch_norm(lv, gamma, beta, mean, variance, axis=1)[0]
        after:   lv = R.nn.conv2d(x, R.multiply(w, factor))
                 lv1 = R.add(lv, shift)

    What is computed of constants is left to `FoldConstant`. A constant that is added in between
    becomes part of what is added.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Folding(mod).module()


class _Folding(CountingMutator):
    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not is_call_of(call, "nn.batch_norm") or call.attrs["training"]:
            return call
        if any(constant_of(self.builder_, parameter) is None for parameter in call.args[1:]):
            return call
        folded = self._folded(self.builder_.normalize(call))
        return call if folded is None else folded

    def _folded(self, norm: Call) -> RelaxExpr | None:
        source, added = self.sole_definition(norm.args[0]), None
        if is_call_of(source, "add"):
            constants = [s for s in source.args if constant_of(self.builder_, s) is not None]
            others = [s for s in source.args if constant_of(self.builder_, s) is None]
            if len(others) != 1:
                return None
            source, added = self.sole_definition(others[0]), constants[0]
        if not is_call_of(source, *CONVOLUTIONS):
            return None
        return self._with_factor(source, norm, added)

    def _with_factor(
        self, convolution: Call, norm: Call, added: RelaxExpr | None
    ) -> RelaxExpr | None:
        builder, weight = self.builder_, convolution.args[1]
        info, result = weight.struct_info, convolution.struct_info
        assert isinstance(info, TensorStructInfo)
        assert isinstance(result, TensorStructInfo)
        layout = str(convolution.attrs["data_layout"])
        channel = int(norm.attrs["axis"]) % result.ndim
        if constant_of(builder, weight) is None or channel != layout.index("C"):
            return None
        if info.dtype is not result.dtype:  # the weights would lose precision
            return None
        parts = scale_and_shift(builder, norm)
        if parts is None:
            return None
        factor, shift = parts
        outputs = str(convolution.attrs["kernel_layout"]).index("O")
        scaled = op.multiply(weight, along_axis(builder, factor, outputs, info.ndim))
        args = (convolution.args[0], builder.emit(scaled))
        value = builder.emit(convolution.replace(args=args, struct_info=None))
        shift = along_axis(builder, shift, channel, result.ndim)
        if added is not None:
            factor = along_axis(builder, factor, channel, result.ndim)
            shift = builder.emit(op.add(op.multiply(added, factor), shift))
        return Tuple([builder.emit(op.add(value, shift)), *norm.args[3:]])
