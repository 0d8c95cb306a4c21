"""Attention, and what encodes positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.relax import const, op
from tilewright.relax.frontend.nn.op.operator import tensor_operator
from tilewright.relax.frontend.nn.parameter import get_default_dtype


@tensor_operator
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """``softmax(query @ key.T * scale + attn_mask) @ value`` for each head.

    Args:
        query: ``(batch, queries, heads, size)``.
        key: ``(batch, keys, heads, size)``.
        value: ``(batch, keys, heads, result size)``.
        attn_mask: what is added to the products, ``(batch, heads, queries, keys)``.
        is_causal: whether query i attends to keys up to i only.
        scale: by default one by the square root of the size.
    """
    causal = "TopLeft" if is_causal else None
    return op.nn.attention(query, key, value, attn_mask, scale, causal)


@tensor_operator
def get_timestep_embedding(
    x: Any, embedding_dim: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1,
    scale: float = 1, max_period: int = 10000,
) -> Any:  # fmt: skip
    """Sines and cosines of each number times frequencies from 1 to 1 / `max_period`.

    Args:
        x: ``(steps,)``.
        embedding_dim: how many sines and cosines there are.
        flip_sin_to_cos: whether the cosines come first.
        downscale_freq_shift: the last frequency has the exponent ``-half / (half - shift)``.
        scale: a factor of the angles.
        max_period: see above.

    Returns:
        ``(steps, embedding_dim)``, of the default dtype.
    """
    half = embedding_dim // 2
    exponents = -math.log(max_period) * np.arange(half) / (half - downscale_freq_shift)
    frequencies = const((scale * np.exp(exponents)).astype("float32")[None])
    angles = op.multiply(op.expand_dims(op.astype(x, "float32"), 1), frequencies)
    parts = [op.sin(angles), op.cos(angles)]
    embedding = op.concat(parts[::-1] if flip_sin_to_cos else parts, -1)
    if embedding_dim % 2:
        embedding = op.nn.pad(embedding, [0, 0, 0, 1])
    return op.astype(embedding, get_default_dtype())
