"""Normalisations: of rows, of channels, of groups of channels, and of channels over a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te, topi
from tilewright.error import ArgumentError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import INT64
from tilewright.relax.expr import Call, RelaxExpr, Tuple
from tilewright.relax.op.rules import agreeing, require_agreement, requiring, sized
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import TensorStructInfo, TupleStructInfo
from tilewright.te import Tensor
from tilewright.te.tensor import extent_text
from tilewright.topi.nn.window import simplified
from tilewright.topi.operands import accumulator

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]


def _axes(owner: str, axes: Any) -> tuple[int, ...]:
    items = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if not all(isinstance(item, int) for item in items):
        raise ArgumentError(f"{owner}: axes are integers, got {axes!r}")
    return items


def infer_like_data(
    inference: Inference, axes: Sequence[int], parameters: Sequence[int]
) -> TensorStructInfo:
    """The struct info of an array like argument 0, with parameters that have its extents `axes`."""
    info = inference.tensor(0)
    dtype = inference.same_dtype(0, *parameters)
    if dtype is not None and not dtype.is_float:
        inference.error(f"argument `data` must have a float dtype, it has {dtype!s}")
    if info.ndim == -1:
        return info
    counted = [inference.axis(axis, info.ndim) for axis in axes]
    if len(set(counted)) != len(counted):
        inference.error(f"an axis appears twice in {tuple(axes)}")
    for position in parameters:
        parameter = inference.tensor(position)
        name = inference.name_of(position)
        if parameter.ndim not in (-1, len(counted)):
            inference.error(f"{name} has {parameter.ndim} dimensions, not {len(counted)}")
        if info.extents is not None and parameter.extents is not None:
            for axis, extent in zip(counted, parameter.extents, strict=True):
                what = f"dimension {axis} of `data`, and {name}"
                require_agreement(inference, what, info.extents[axis], extent)
    return info


def checked(builder: Any, expr: Call, axes: Sequence[int]) -> list[RelaxExpr]:
    """The arguments; the parameters are checked to have the extents `axes` of the first."""
    parameters = expr.args[1:]
    data, extents = sized(builder, expr.args[0])
    wanted = {position: extents[axis] for position, axis in enumerate(axes)}
    return [data, *(agreeing(builder, parameter, wanted) for parameter in parameters)]


# --- layer_norm, instance_norm, group_norm, rms_norm ----------------------------------------


def _infer_layer_norm(inference: Inference) -> TensorStructInfo:
    return infer_like_data(inference, inference.call.attrs["axes"], (1, 2))


def _legalize_layer_norm(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs

    def kernel(data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        weight = gamma if attrs["scale"] else topi.full_like(gamma, 1.0)
        added = beta if attrs["center"] else None
        return topi.nn.layer_norm(data, weight, added, attrs["axes"], attrs["epsilon"])

    arguments = checked(builder, expr, attrs["axes"])
    return builder.call_te(kernel, *arguments, primfunc_name_hint="layer_norm")


_LAYER_NORM = register(
    "nn.layer_norm", ("data", "gamma", "beta"), _infer_layer_norm, _legalize_layer_norm
)


def layer_norm(
    data: Any, gamma: Any, beta: Any, axes: int | Sequence[int], epsilon: float = 1e-5,
    center: bool = True, scale: bool = True,
) -> Call:  # fmt: skip
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, the mean being that of `axes`.

    Args:
        data: the array.
        gamma: the factors, with the dimensions `axes`.
        beta: what is added, likewise.
        axes: the dimensions of one mean.
        epsilon: keeps the divisor from 0.
        center: whether `beta` is added.
        scale: whether `gamma` is multiplied by.
    """
    attrs = {
        "axes": _axes("R.nn.layer_norm", axes), "epsilon": float(epsilon),
        "center": bool(center), "scale": bool(scale),
    }  # fmt: skip
    return call(_LAYER_NORM, data, gamma, beta, attrs=attrs)


def _infer_channels(inference: Inference) -> TensorStructInfo:
    attrs = inference.call.attrs
    info = infer_like_data(inference, (attrs["channel_axis"],), (1, 2))
    if info.ndim == -1:
        return info
    channel = inference.axis(attrs["channel_axis"], info.ndim)
    axes = [inference.axis(axis, info.ndim) for axis in attrs["axes"]]
    if channel in axes:
        inference.error("`axes` are dimensions besides `channel_axis`")
    if len(set(axes)) != len(axes):
        inference.error(f"an axis appears twice in {tuple(attrs['axes'])}")
    groups = attrs.get("num_groups")
    if groups is not None and info.extents is not None:
        rest = floormod(info.extents[channel], const(groups, INT64))
        if inference.differ(inference.analyzer.simplify(rest), const(0, INT64)):
            inference.error(
                f"{groups} groups do not divide {extent_text(info.extents[channel])} channels"
            )
    return info


def _legalize_channels(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    channel = attrs["channel_axis"]

    def kernel(data: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        weight = gamma if attrs["scale"] else None
        added = beta if attrs["center"] else None
        groups = attrs.get("num_groups")
        if groups is None:
            one = topi.full_like(gamma, 1.0) if weight is None else weight
            return topi.nn.instance_norm(data, one, added, channel, attrs["axes"], attrs["epsilon"])
        return topi.nn.group_norm(
            data, weight, added, groups, channel, attrs["axes"], attrs["epsilon"]
        )

    name = expr.op.name.rpartition(".")[2]  # type: ignore[union-attr]
    data, *parameters = checked(builder, expr, (channel,))
    groups = attrs.get("num_groups")
    if groups is not None:
        _, extents = sized(builder, data)
        multiple = simplified(floordiv(extents[channel], groups) * groups)
        data = requiring(builder, data, {channel % len(extents): multiple})
    arguments = [data, *parameters]
    return builder.call_te(kernel, *arguments, primfunc_name_hint=name)


_GROUP_NORM = register(
    "nn.group_norm", ("data", "gamma", "beta"), _infer_channels, _legalize_channels
)
_INSTANCE_NORM = register(
    "nn.instance_norm", ("data", "gamma", "beta"), _infer_channels, _legalize_channels
)


def group_norm(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int,
    axes: int | Sequence[int], epsilon: float = 1e-5, center: bool = True, scale: bool = True,
) -> Call:  # fmt: skip
    """`layer_norm` of groups of channels.

    Args:
        data: the array.
        gamma: the factors of the channels.
        beta: what is added to them.
        num_groups: into how many groups the channels are divided.
        channel_axis: the dimension of channels.
        axes: the other dimensions of one mean.
        epsilon: keeps the divisor from 0.
        center: whether `beta` is added.
        scale: whether `gamma` is multiplied by.
    """
    attrs = {
        "num_groups": num_groups, "channel_axis": channel_axis,
        "axes": _axes("R.nn.group_norm", axes), "epsilon": float(epsilon),
        "center": bool(center), "scale": bool(scale),
    }  # fmt: skip
    return call(_GROUP_NORM, data, gamma, beta, attrs=attrs)


def instance_norm(
    data: Any, gamma: Any, beta: Any, channel_axis: int, axes: int | Sequence[int],
    epsilon: float = 1e-5, center: bool = True, scale: bool = True,
) -> Call:  # fmt: skip
    """`layer_norm` with a factor for each channel; see `group_norm`."""
    attrs = {
        "channel_axis": channel_axis, "axes": _axes("R.nn.instance_norm", axes),
        "epsilon": float(epsilon), "center": bool(center), "scale": bool(scale),
    }  # fmt: skip
    return call(_INSTANCE_NORM, data, gamma, beta, attrs=attrs)


def _infer_rms_norm(inference: Inference) -> TensorStructInfo:
    return infer_like_data(inference, inference.call.attrs["axes"], (1,))


def _legalize_rms_norm(builder: Any, expr: Call) -> Any:
    attrs = expr.attrs
    arguments = checked(builder, expr, attrs["axes"])
    return builder.call_te(
        topi.nn.rms_norm, *arguments, attrs["axes"], attrs["epsilon"],
        primfunc_name_hint="rms_norm",
    )  # fmt: skip


_RMS_NORM = register("nn.rms_norm", ("data", "weight"), _infer_rms_norm, _legalize_rms_norm)


def rms_norm(data: Any, weight: Any, axes: int | Sequence[int] = -1, epsilon: float = 1e-5) -> Call:
    """``x / sqrt(mean(x * x) + epsilon) * weight``, the mean being that of `axes`."""
    attrs = {"axes": _axes("R.nn.rms_norm", axes), "epsilon": float(epsilon)}
    return call(_RMS_NORM, data, weight, attrs=attrs)


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
