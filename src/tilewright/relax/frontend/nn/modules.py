"""All layers, and the effects that modules may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.containers import ModuleList
from tilewright.relax.frontend.nn.convolution import Conv1D, Conv2D, Conv3D, ConvTranspose1D
from tilewright.relax.frontend.nn.effect import IOEffect, KVCache
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.parameter import Parameter
from tilewright.relax.frontend.nn.tensor import Tensor

__all__ = [
    "GELU", "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Embedding", "GroupNorm",
    "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "RMSNorm", "ReLU", "SiLU",
    "TimestepEmbedding", "Timesteps",
]  # fmt: skip


class Identity(Module):
    """The input."""

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`."""
        return x


class ReLU(Module):
    """``max(x, 0)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to each element."""
        return op.relu(x)


class SiLU(Module):
    """``x * sigmoid(x)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to each element."""
        return op.silu(x)


class GELU(Module):
    """The Gaussian error linear unit, exact."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to each element."""
        return op.gelu(x)


class Linear(Module):
    """``x @ weight.T + bias``.

    Args:
        in_features: the last extent of the input: a number, a name or an expression.
        out_features: that of the result.
        bias: whether there is a bias.
        dtype: of the weight, by default the default dtype.
        out_dtype: of the sums and of the result; by default that of the input.
    """

    def __init__(
        self, in_features: Any, out_features: Any, bias: bool = True, dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:  # fmt: skip
        self.in_features, self.out_features = in_features, out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), out_dtype or dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to ``(..., in_features)``."""
        product = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return product if self.bias is None else op.add(product, self.bias)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the weight, and that of the bias unless there is an `out_dtype`."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


class Embedding(Module):
    """Rows of a table.

    Args:
        num: the number of rows: a number, a name or an expression.
        dim: their length.
        dtype: of the elements.
    """

    def __init__(self, num: Any, dim: Any, dtype: str | None = None) -> None:
        self.num, self.dim = num, dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The rows with the numbers `x`, ``(*x.shape, dim)``."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, -1), axis=0)
        return op.reshape(rows, *x.shape, self.weight.shape[1])


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


_ACTIVATIONS: Final[dict[str, Any]] = {"silu": SiLU, "swish": SiLU, "gelu": GELU}


def _activation(name: str) -> Module:
    require_one_of("TimestepEmbedding: the activation", name, _ACTIVATIONS)
    return _ACTIVATIONS[name]()


class Timesteps(Module):
    """Sines and cosines of numbers of steps.

    Args:
        num_channels: how many there are for a step.
        flip_sin_to_cos: whether the cosines come first.
        downscale_freq_shift: see `tilewright.relax.frontend.nn.op.get_timestep_embedding`.
    """

    def __init__(
        self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1
    ) -> None:
        self.num_channels, self.flip_sin_to_cos = num_channels, flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """``(steps, num_channels)`` for ``(steps,)``."""
        return op.get_timestep_embedding(
            x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift
        )


class TimestepEmbedding(Module):
    """Two linear layers with an activation between them.

    Args:
        in_channels: the length of the input.
        time_embed_dim: the length between the layers.
        act_fn: the activation, ``"silu"`` or ``"gelu"``.
        out_dim: the length of the result, by default `time_embed_dim`.
        post_act_fn: an activation of the result.
        cond_proj_dim: the length of a condition that is added to the input, if there is one.
    """

    def __init__(
        self, in_channels: int, time_embed_dim: int, act_fn: str = "silu",
        out_dim: int | None = None, post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:  # fmt: skip
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = (
            None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        )
        self.act = _activation(act_fn)
        self.linear_2 = Linear(time_embed_dim, out_dim or time_embed_dim)
        self.post_act = None if post_act_fn is None else _activation(post_act_fn)

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """Apply the layers to ``(steps, in_channels)``."""
        if condition is not None:
            if self.cond_proj is None:
                raise ArgumentValueError("TimestepEmbedding: a condition needs cond_proj_dim")
            sample = sample + self.cond_proj(condition)
        result = self.linear_2(self.act(self.linear_1(sample)))
        return result if self.post_act is None else self.post_act(result)


class Attention(Module):
    """Attention of a sequence to itself or to another one.

    Args:
        query_dim: the length of the vectors of the sequence, and of those of the result.
        cross_attention_dim: that of the other sequence; by default `query_dim`.
        heads: the number of heads.
        dim_head: the length of the vectors of a head.
        bias: whether the layers that make queries, keys and values have a bias.
        norm_num_groups: groups of channels that are normalised first; None for none.
        out_bias: whether the last layer has a bias.
        scale_qk: whether the products are divided by the square root of `dim_head`.
    """

    def __init__(
        self, query_dim: int, cross_attention_dim: int | None = None, heads: int = 8,
        dim_head: int = 64, bias: bool = False, norm_num_groups: int | None = None,
        out_bias: bool = True, scale_qk: bool = True,
    ) -> None:  # fmt: skip
        inner, other = dim_head * heads, cross_attention_dim or query_dim
        self.heads, self.dim_head = heads, dim_head
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        self.to_q = Linear(query_dim, inner, bias=bias)
        self.to_k = Linear(other, inner, bias=bias)
        self.to_v = Linear(other, inner, bias=bias)
        self.group_norm = None if norm_num_groups is None else GroupNorm(norm_num_groups, query_dim)
        self.to_out = ModuleList([Linear(inner, query_dim, bias=out_bias)])

    def forward(
        self, hidden_states: Tensor, encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None, **cross_attention_kwargs: Any,
    ) -> Tensor:  # fmt: skip
        """Attend.

        Args:
            hidden_states: ``(batch, queries, query_dim)``.
            encoder_hidden_states: ``(batch, keys, cross_attention_dim)``; by default the same.
            attention_mask: what is added to the products, ``(batch, heads, queries, keys)``.
            **cross_attention_kwargs: none are supported.
        """
        if cross_attention_kwargs:
            raise ArgumentError(f"Attention: unknown arguments {list(cross_attention_kwargs)}")
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        other = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key, value = self.to_q(hidden_states), self.to_k(other), self.to_v(other)
        attended = op.scaled_dot_product_attention(
            *map(self._by_heads, (query, key, value)), attention_mask, scale=self.scale
        )
        batch, queries = query.shape[:2]
        result = op.reshape(attended, batch, queries, self.heads * self.dim_head)
        return self.to_out[0](result)

    def _by_heads(self, x: Tensor) -> Tensor:
        batch, length = x.shape[:2]
        return op.reshape(x, batch, length, self.heads, self.dim_head)
