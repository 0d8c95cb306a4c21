"""Operators that torch has for whole layers, as the operators that they do the work of.

`torch.nn.MultiheadAttention` and `torch.nn.TransformerEncoderLayer` call these where no gradients
are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn import functional

PADDING: Final = 1
"""The type of masks of words, of shape ``(batch, length)``; others are for pairs of words."""


def multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor,
    qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None = None,
    need_weights: bool = True, average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Attention with its projections, and the weights of the values if they are asked for."""
    queries, keys, values = (
        functional.linear(x, weight, bias).unflatten(-1, (num_head, -1)).transpose(1, 2)
        for x, weight, bias in zip(
            (query, key, value), qkv_weight.split(embed_dim), qkv_bias.split(embed_dim), strict=True
        )
    )
    bias = None if mask is None else _bias(mask, mask_type, query.dtype)
    if need_weights:
        scores = queries @ keys.transpose(-1, -2) * (embed_dim // num_head) ** -0.5
        weights = torch.softmax(scores if bias is None else scores + bias, -1)
        attended = weights @ values
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        attended = functional.scaled_dot_product_attention(queries, keys, values, bias)
        weights = query.new_zeros(0)
    return functional.linear(attended.transpose(1, 2).flatten(2), proj_weight, proj_bias), weights


def _bias(mask: Tensor, mask_type: int | None, dtype: torch.dtype) -> Tensor:
    """What is added to scores: minus infinity where a mask is set."""
    hidden = mask.to(torch.bool)
    if mask_type == PADDING:
        hidden = hidden[:, None, None, :]
    return torch.zeros_like(hidden, dtype=dtype).masked_fill(hidden, float("-inf"))


def transformer_encoder_layer(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
    ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor,
    mask: Tensor | None = None, mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    """Attention and two dense layers, with a sum and a normalisation around each."""

    def attend(x: Tensor) -> Tensor:
        projections = qkv_weight, qkv_bias, proj_weight, proj_bias
        return multi_head_attention(
            x, x, x, embed_dim, num_heads, *projections, mask, False, mask_type=mask_type
        )[0]

    def transform(x: Tensor) -> Tensor:
        inner = functional.linear(x, ffn_weight_1, ffn_bias_1)
        active = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return functional.linear(active, ffn_weight_2, ffn_bias_2)

    def normalize(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    first, second = (norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)
    if norm_first:
        x = src + attend(normalize(src, *first))
        return x + transform(normalize(x, *second))
    x = normalize(src + attend(src), *first)
    return normalize(x + transform(x), *second)


FUSED_LAYERS: Final[dict[Any, Callable[..., Any]]] = {
    torch.ops.aten._native_multi_head_attention.default: multi_head_attention,
    torch.ops.aten._transformer_encoder_layer_fwd.default: transformer_encoder_layer,
}
"""Decompositions by operator."""
