"""Activation functions, softmax and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tilewright import te, topi
from tilewright.ir.convert import cast
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.op.rules import agreeing, require_agreement, sized
from tilewright.relax.op.table import Inference, call, kernel, named, register
from tilewright.relax.op.unary import infer_same, is_float, is_number
from tilewright.relax.struct_info import TensorStructInfo, TupleStructInfo
from tilewright.te import Tensor
from tilewright.topi.operands import accumulator, as_int

__all__ = [
    "dropout", "gelu", "gelu_tanh", "leakyrelu", "log_softmax", "prelu", "relu", "silu", "softmax",
]  # fmt: skip


def _infer_float(inference: Inference) -> TensorStructInfo:
    return infer_same(inference, is_float, "a float dtype")


def _formula(name: str, formula: Callable[[Any], Any], doc: str) -> Callable[[Any], Call]:
    """The operator that applies a formula to each element, in single precision at least."""

    def compute(x: Tensor) -> Tensor:
        wide = accumulator(x.dtype)
        return te.compute(
            x.shape, lambda *i: cast(x.dtype, formula(cast(wide, x(*i)))), f"T_{name}", "elemwise"
        )

    op = register(f"nn.{name}", ("data",), _infer_float, kernel(compute, name=name))

    @named(name, doc)
    def function(data: Any) -> Call:
        return call(op, data)

    return function


def _gelu(x: Any) -> Any:
    return x * 0.5 * (1.0 + te.erf(x * math.sqrt(0.5)))


def _gelu_tanh(x: Any) -> Any:
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return x * 0.5 * (1.0 + te.tanh(inner))


def _silu(x: Any) -> Any:
    return x * te.sigmoid(x)


gelu = _formula("gelu", _gelu, "x / 2 * (1 + erf(x / sqrt(2))).")
gelu_tanh = _formula(
    "gelu_tanh", _gelu_tanh, "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))."
)
silu = _formula("silu", _silu, "x / (1 + exp(-x)).")


def _infer_number(inference: Inference) -> TensorStructInfo:
    return infer_same(inference, is_number, "numbers")


_RELU = register("nn.relu", ("data",), _infer_number, kernel(topi.nn.relu))


def relu(data: Any) -> Call:
    """The larger one of each element and 0."""
    return call(_RELU, data)


_LEAKYRELU = register("nn.leakyrelu", ("data",), _infer_float, kernel(topi.nn.leaky_relu, "alpha"))


def leakyrelu(data: Any, alpha: float = 0.01) -> Call:
    """Each element, times `alpha` where it is negative."""
    return call(_LEAKYRELU, data, attrs={"alpha": float(alpha)})


def _infer_prelu(inference: Inference) -> TensorStructInfo:
    info, slope = inference.tensor(0), inference.tensor(1)
    inference.same_dtype(0, 1)
    if slope.ndim not in (-1, 1):
        inference.error(f"argument `alpha` has one dimension, it has {slope.ndim}")
    if info.ndim != -1:
        channel = inference.axis(inference.call.attrs["axis"], info.ndim)
        if info.extents is not None and slope.extents is not None:
            require_agreement(inference, "the channels", info.extents[channel], slope.extents[0])
    return infer_same(inference, is_float, "a float dtype")


def _legalize_prelu(builder: Any, expr: Call) -> Any:
    data, extents = sized(builder, expr.args[0])
    axis = expr.attrs["axis"]
    slope = agreeing(builder, expr.args[1], {0: extents[axis]})
    return builder.call_te(topi.nn.prelu, data, slope, axis, primfunc_name_hint="prelu")


_PRELU = register("nn.prelu", ("data", "alpha"), _infer_prelu, _legalize_prelu)


def prelu(data: Any, alpha: Any, axis: int = 1) -> Call:
    """Each element, times the slope of its channel where it is negative.

    Args:
        data: the array.
        alpha: one number for each index along `axis`.
        axis: the dimension of channels.
    """
    return call(_PRELU, data, alpha, attrs={"axis": axis})


def _infer_along_axis(inference: Inference) -> TensorStructInfo:
    info = _infer_float(inference)
    if info.ndim != -1:
        inference.axis(inference.call.attrs["axis"], info.ndim)
    return info


def _softmax(name: str, doc: str) -> Callable[..., Call]:
    function = getattr(topi.nn, name)

    def in_single_precision(x: Tensor, axis: int) -> Tensor:
        wide = accumulator(x.dtype)
        if wide is x.dtype:
            return function(x, axis)
        return topi.cast(function(topi.cast(x, str(wide)), axis), str(x.dtype))

    legalize = kernel(in_single_precision, "axis", name=name)
    op = register(f"nn.{name}", ("data",), _infer_along_axis, legalize)

    @named(name, doc)
    def make(data: Any, axis: int = -1) -> Call:
        return call(op, data, attrs={"axis": as_int(f"R.nn.{name}", "axis", axis)})

    return make


softmax = _softmax("softmax", "exp(x - max(x)) / sum(exp(x - max(x))) along `axis`.")
log_softmax = _softmax("log_softmax", "The logarithm of the softmax along `axis`.")


def _infer_dropout(inference: Inference) -> TupleStructInfo:
    info = inference.tensor(0)
    return TupleStructInfo([info, info])


def _legalize_dropout(builder: Any, expr: Call) -> Any:
    data = expr.args[0]
    mask = builder.emit(
        builder.call_te(topi.full_like, data, 1.0, primfunc_name_hint="dropout_mask")
    )
    return Tuple([data, mask])


_DROPOUT = register("nn.dropout", ("data",), _infer_dropout, _legalize_dropout)


def dropout(data: Any, rate: float = 0.5) -> Call:
    """The tuple of `data` and a mask of ones: in inference, nothing is dropped."""
    return call(_DROPOUT, data, attrs={"rate": float(rate)})
