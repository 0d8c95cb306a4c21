"""Decomposition of neural network operators; batch normalisation folded into convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, Constant, RelaxExpr, Tuple
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.relax.transform.function_pass import (
    CountingMutator,
    ModuleMutator,
    constant_of,
    is_call_of,
)
from tilewright.topi.operands import accumulator

Rule = Callable[[BlockBuilder, Call], "RelaxExpr | None"]
"""What a call becomes; None where it stays."""


def scalar(value: float, like: Any) -> Constant:
    """A constant without dimensions, with the dtype of the array `like`."""
    return Constant(np.asarray(value, DType(like.struct_info.dtype).numpy))


def along_axis(builder: BlockBuilder, vector: RelaxExpr, axis: int, ndim: int) -> RelaxExpr:
    """A vector as an array that broadcasts along all dimensions of `ndim` but `axis`."""
    info = vector.struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.extents is not None
    trailing = ndim - 1 - axis % ndim
    if not trailing:
        return vector
    return builder.emit(op.reshape(vector, (info.extents[0], *[1] * trailing)))


def widened(builder: BlockBuilder, value: RelaxExpr) -> RelaxExpr:
    """An array in the dtype of sums of its elements: half precision in single precision."""
    dtype = DType(value.struct_info.dtype)  # type: ignore[union-attr]
    wide = accumulator(dtype)
    return value if wide is dtype else builder.emit(op.astype(value, str(wide)))


def converted(builder: BlockBuilder, value: RelaxExpr, like: RelaxExpr) -> RelaxExpr:
    """An array in the dtype of another one."""
    value = builder.normalize(value)
    dtype, wanted = value.struct_info.dtype, like.struct_info.dtype  # type: ignore[union-attr]
    return value if dtype is wanted else op.astype(value, str(wanted))


def scale_and_shift(
    builder: BlockBuilder, call: Call, dtype: DType | None = None
) -> tuple[RelaxExpr, RelaxExpr] | None:
    """The factor and the summand per channel to which a `batch_norm` in inference is equivalent,
    in single precision at least.

    None for one in training, and where the shapes are not known.

    Args:
        dtype: to which the factor is rounded first; by default it is not.
    """
    known = all(getattr(arg.struct_info, "extents", None) is not None for arg in call.args)
    if call.attrs["training"] or not known:
        return None
    gamma, beta, mean, variance = (widened(builder, arg) for arg in call.args[1:])
    epsilon = scalar(call.attrs["epsilon"], variance)
    factor = builder.emit(op.rsqrt(op.add(variance, epsilon)))
    if call.attrs["scale"]:
        factor = builder.emit(op.multiply(gamma, factor))
    if dtype is not None and dtype is not accumulator(dtype):
        factor = widened(builder, builder.emit(op.astype(factor, str(dtype))))
    product = op.multiply(mean, factor)
    shift = op.subtract(beta, product) if call.attrs["center"] else op.negative(product)
    return factor, builder.emit(shift)


def _batch_norm(builder: BlockBuilder, call: Call) -> RelaxExpr | None:
    parts = scale_and_shift(builder, call)
    if parts is None:
        return None
    data, axis = call.args[0], int(call.attrs["axis"])
    ndim = data.struct_info.ndim  # type: ignore[union-attr]
    factor, shift = (along_axis(builder, part, axis, ndim) for part in parts)
    result = op.add(op.multiply(widened(builder, data), factor), shift)
    return Tuple([builder.emit(converted(builder, result, data)), *call.args[3:]])


def _dropout(builder: BlockBuilder, call: Call) -> RelaxExpr | None:
    data = call.args[0]
    return Tuple([data, builder.emit(op.ones_like(data))])


def _batch_norm_in_training(builder: BlockBuilder, call: Call) -> RelaxExpr | None:
    data, gamma, beta, moving_mean, moving_variance = call.args
    known = all(getattr(arg.struct_info, "extents", None) is not None for arg in call.args)
    if not call.attrs["training"] or not known:
        return None
    ndim = data.struct_info.ndim  # type: ignore[union-attr]
    axis = int(call.attrs["axis"]) % ndim
    others = [dimension for dimension in range(ndim) if dimension != axis]
    wide = widened(builder, data)
    mean = builder.emit(op.mean(wide, others))
    variance = builder.emit(op.variance(wide, others))
    momentum = float(call.attrs["momentum"])
    moved = [
        converted(builder, _moving_average(widened(builder, old), new, momentum), old)
        for old, new in ((moving_mean, mean), (moving_variance, variance))
    ]
    attrs = {**call.attrs, "training": False}
    now = call.replace(args=(data, gamma, beta, mean, variance), attrs=attrs, struct_info=None)
    result = _batch_norm(builder, now)
    assert isinstance(result, Tuple)
    return Tuple([result.fields[0], *map(builder.emit, moved)])


def _moving_average(old: RelaxExpr, new: RelaxExpr, momentum: float) -> RelaxExpr:
    kept = op.multiply(old, scalar(1.0 - momentum, old))
    return op.add(kept, op.multiply(new, scalar(momentum, new)))


def _layer_norm(builder: BlockBuilder, call: Call) -> RelaxExpr | None:
    data, gamma, beta = call.args
    if data.struct_info.ndim == -1:  # type: ignore[union-attr]
        return None
    axes = sorted(axis % data.struct_info.ndim for axis in call.attrs["axes"])  # type: ignore[union-attr]
    if axes[-1] != data.struct_info.ndim - 1 or axes[-1] - axes[0] != len(axes) - 1:  # type: ignore[union-attr]
        return None  # the parameters would not broadcast
    wide = widened(builder, data)
    mean = builder.emit(op.mean(wide, axes, keepdims=True))
    variance = op.variance(wide, axes, keepdims=True)
    inverse = op.rsqrt(op.add(variance, scalar(call.attrs["epsilon"], wide)))
    result: RelaxExpr = op.multiply(op.subtract(wide, mean), inverse)
    if call.attrs["scale"]:
        result = op.multiply(result, widened(builder, gamma))
    if call.attrs["center"]:
        result = op.add(result, widened(builder, beta))
    return converted(builder, result, data)


IN_INFERENCE: Final[dict[str, Rule]] = {
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.dropout": _dropout,
}
IN_TRAINING: Final[dict[str, Rule]] = {
    "relax.nn.batch_norm": _batch_norm_in_training,
    "relax.nn.layer_norm": _layer_norm,
}


class DecomposeOpsForInference(ModulePass):
    """Replace `batch_norm` and `dropout` by what they do in inference.

    What depends only on the parameters is then computed separately, and only once if they are
    constants::

        before:  lv = R.nn.batch_norm(x, gamma, beta, mean, variance, axis=1)
        after:   lv1 = R.multiply(gamma, R.rsqrt(R.add(variance, 1e-5)))
                 lv2 = R.subtract(beta, R.multiply(mean, lv1))
                 lv3 = R.add(R.multiply(x, R.reshape(lv1, (c, 1, 1))), R.reshape(lv2, (c, 1, 1)))
                 lv = (lv3, mean, variance)

    Args:
        func_name: the function; by default all.
    """

    def __init__(self, func_name: str | None = None) -> None:
        self._func_name = func_name

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Decomposition(mod, IN_INFERENCE).module(self._func_name)


class DecomposeOpsForTraining(ModulePass):
    """Replace `batch_norm` in training, and `layer_norm`, by sums and products.

    Args:
        func_name: the function; by default all.
    """

    def __init__(self, func_name: str | None = None) -> None:
        self._func_name = func_name

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Decomposition(mod, IN_TRAINING).module(self._func_name)


class _Decomposition(ModuleMutator):
    def __init__(self, mod: IRModule, rules: dict[str, Rule]) -> None:
        super().__init__(mod)
        self._rules = rules

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        rule = self._rules.get(call.op.name) if isinstance(call.op, Op) else None
        if rule is None:
            return call
        call = self.builder_.normalize(call)
        result = rule(self.builder_, call)
        return call if result is None else result


CONVOLUTIONS: Final = ("nn.conv1d", "nn.conv2d", "nn.conv3d")


class FoldBatchnormToConv2D(ModulePass):
    """Multiply weights by what a `batch_norm` right after the convolution multiplies its result by.

    That is so where the weights and the parameters are constants, in inference::

        before:  lv = R.nn.conv2d(x, w)
                 lv1 = R.nn.batch_norm(lv, gamma, beta, mean, variance, axis=1)[0]
        after:   lv = R.nn.conv2d(x, R.multiply(w, factor))
                 lv1 = R.add(lv, shift)

    Arithmetic on constants is left to `FoldConstant`. A constant that is added in between becomes
    part of the summand.
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
        parts = scale_and_shift(builder, norm, info.dtype)
        if parts is None:
            return None
        factor, shift = parts
        outputs = str(convolution.attrs["kernel_layout"]).index("O")
        factors = builder.emit(converted(builder, factor, weight))
        scaled = op.multiply(weight, along_axis(builder, factors, outputs, info.ndim))
        args = (convolution.args[0], builder.emit(scaled))
        value = builder.emit(convolution.replace(args=args, struct_info=None))
        shift = along_axis(builder, shift, channel, result.ndim)
        if added is not None:
            factor = along_axis(builder, factor, channel, result.ndim)
            shift = builder.emit(op.add(op.multiply(widened(builder, added), factor), shift))
        result = converted(builder, op.add(widened(builder, value), shift), value)
        return Tuple([builder.emit(result), *norm.args[3:]])
