"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter
from tilewright.relax.frontend.nn.tensor import (
    Tensor,
)


class LayerNorm(Module):
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last dimension.

    Args:
        normalized_shape: the extent of the last dimension, or those of the last dimensions.
        eps: keeps the divisor from 0.
        elementwise_affine: whether there are a weight and a bias.
        dtype: of these.
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        is_sequence = isinstance(normalized_shape, (list, tuple))
        self.normalized_shape = list(normalized_shape) if is_sequence else [normalized_shape]
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(self.normalized_shape, dtype) if elementwise_affine else None
        self.bias = Parameter(self.normalized_shape, dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last dimensions."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """``x / sqrt(mean(x * x) + epsilon) * weight``, plus a bias.

    Args:
        hidden_size: the extent of the dimension that is normalised.
        axes: the dimension, or several.
        epsilon: keeps the divisor from 0.
        bias: whether there is a bias.
        dtype: of the weight and the bias.
    """

    def __init__(
        self, hidden_size: Any, axes: int | Sequence[int], epsilon: float = 1e-5,
        bias: bool = True, dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.axes, self.epsilon = axes, epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the dimensions `axes`."""
        result = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return result if self.bias is None else op.add(result, self.bias)


class GroupNorm(Module):
    """Each group of channels minus its mean and by its deviation, times `weight` plus `bias`.

    Args:
        num_groups: into how many groups the channels are divided.
        num_channels: how many there are.
        eps: keeps the divisor from 0.
        affine: whether there are a weight and a bias for each channel.
        dtype: of these.
    """

    def __init__(
        self, num_groups: int, num_channels: Any, eps: float = 1e-5, affine: bool = True,
        dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(
        self, x: Tensor, channel_axis: int = 1, axes: Sequence[int] | None = None
    ) -> Tensor:
        """Normalise groups of channels; see `tilewright.relax.frontend.nn.op.group_norm`."""
        return op.group_norm(
            x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes
        )
