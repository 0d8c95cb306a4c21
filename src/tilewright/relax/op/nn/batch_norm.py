"""Normalisation of channels by the statistics of a batch, or by those of the training."""

from __future__ import annotations

from typing import Any

from tilewright import te, topi
from tilewright.ir.convert import as_expr, cast
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.nn.normalization import checked, infer_like_data
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import TupleStructInfo
from tilewright.te import Tensor
from tilewright.topi.accumulation import accumulator


def _infer_batch_norm(inference: Inference) -> TupleStructInfo:
    info = infer_like_data(inference, (inference.call.attrs["axis"],), (1, 2, 3, 4))
    return TupleStructInfo([info, inference.tensor(3), inference.tensor(4)])


def _legalize_batch_norm(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    arguments = checked(builder, expr, (attrs["axis"],))
    if attrs["training"]:
        return builder.call_te(
            topi.nn.batch_norm, *arguments, attrs["axis"], attrs["epsilon"], attrs["center"],
            attrs["scale"], True, attrs["momentum"], primfunc_name_hint="batch_norm",
        )  # fmt: skip
    data, gamma, beta, mean, variance = arguments
    # Kernels of their own, since parameters are constants mostly: they are computed only once.
    factor = builder.emit(
        builder.call_te(
            _factor, gamma, variance, attrs["epsilon"], attrs["scale"],
            primfunc_name_hint="batch_norm_factor",
        )
    )  # fmt: skip
    shift = builder.emit(
        builder.call_te(
            _shift, beta, mean, factor, attrs["center"], primfunc_name_hint="batch_norm_shift"
        )
    )
    result = builder.emit(
        builder.call_te(
            _scale_and_shift, data, factor, shift, attrs["axis"], primfunc_name_hint="batch_norm"
        )
    )
    return Tuple([result, mean, variance])


def _factor(gamma: Tensor, variance: Tensor, epsilon: float, scale: bool) -> Tensor:
    wide = accumulator(variance.dtype)

    def element(c: Any) -> Any:
        inverse = te.rsqrt(cast(wide, variance(c)) + as_expr(epsilon, wide))
        return inverse * cast(wide, gamma(c)) if scale else inverse

    return te.compute(gamma.shape, element, "T_factor", "elemwise")


def _shift(beta: Tensor, mean: Tensor, factor: Tensor, center: bool) -> Tensor:
    def element(c: Any) -> Any:
        product = cast(factor.dtype, mean(c)) * factor(c)
        return cast(factor.dtype, beta(c)) - product if center else -product

    return te.compute(mean.shape, element, "T_shift", "elemwise")


def _scale_and_shift(data: Tensor, factor: Tensor, shift: Tensor, axis: int) -> Tensor:
    def element(*i: Any) -> Any:
        channel = i[axis]
        value = cast(factor.dtype, data(*i)) * factor(channel) + shift(channel)
        return cast(data.dtype, value)

    return te.compute(data.shape, element, "T_batch_norm", "broadcast")


_BATCH_NORM = register(
    "nn.batch_norm", ("data", "gamma", "beta", "moving_mean", "moving_var"),
    _infer_batch_norm, _legalize_batch_norm,
)  # fmt: skip


def batch_norm(
    data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: int = 1,
    epsilon: float = 1e-5, center: bool = True, scale: bool = True, momentum: float = 0.1,
    training: bool = False,
) -> Call:  # fmt: skip
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` of each channel.

    Args:
        data: the array.
        gamma: the factors of the channels.
        beta: what is added to them.
        moving_mean: the mean that the training has found.
        moving_var: the variance that the training has found.
        axis: the dimension of channels.
        epsilon: keeps the divisor from 0.
        center: whether `beta` is added.
        scale: whether `gamma` is multiplied by.
        momentum: how far the moving statistics move in training.
        training: whether the mean and the variance are those of `data`.

    Returns:
        The tuple of the result and the new `moving_mean` and `moving_var`.
    """
    attrs = {
        "axis": axis, "epsilon": float(epsilon), "center": bool(center), "scale": bool(scale),
        "momentum": float(momentum), "training": bool(training),
    }  # fmt: skip
    return call(_BATCH_NORM, data, gamma, beta, moving_mean, moving_var, attrs=attrs)
