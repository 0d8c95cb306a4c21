"""Softmax and normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.nn.op.operator import renamed, tensor_operator

softmax = renamed(op.nn.softmax, "softmax", "x", "axis")
log_softmax = renamed(op.nn.log_softmax, "log_softmax", "x", "axis")
rms_norm = renamed(op.nn.rms_norm, "rms_norm", "x", "weight", "axes", "epsilon")


@tensor_operator
def layer_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        x: the tensor.
        normalized_shape: the extents of the last dimensions, which have one mean.
        weight: factors of that shape; by default 1.
        bias: what is added, of that shape; by default 0.
        eps: keeps the divisor from 0.
    """
    shape = normalized_shape if isinstance(normalized_shape, (list, tuple)) else [normalized_shape]
    dtype = x.struct_info.dtype
    gamma = op.ones(shape, dtype) if weight is None else weight
    beta = op.zeros(shape, dtype) if bias is None else bias
    axes = list(range(-len(shape), 0))
    return op.nn.layer_norm(
        x, gamma, beta, axes, eps, center=bias is not None, scale=weight is not None
    )


@tensor_operator
def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    channel_axis: int = 1, axes: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Each group of channels minus its mean and by its deviation, times `weight` plus `bias`.

    Args:
        x: the tensor.
        num_groups: into how many groups the channels are divided.
        weight: ``(channels,)``, by default 1.
        bias: ``(channels,)``, by default 0.
        eps: keeps the divisor from 0.
        channel_axis: the dimension of the channels.
        axes: the dimensions over which a mean is taken beside that of the channels; by default
            all from 2.
    """
    info = x.struct_info
    channels = [info.extents[channel_axis]]
    gamma = op.ones(channels, info.dtype) if weight is None else weight
    beta = op.zeros(channels, info.dtype) if bias is None else bias
    axes = list(range(2, info.ndim)) if axes is None else axes
    return op.nn.group_norm(
        x, gamma, beta, num_groups, channel_axis, axes, eps,
        center=bias is not None, scale=weight is not None,
    )  # fmt: skip
