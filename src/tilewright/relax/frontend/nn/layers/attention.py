"""Attention with its linear layers, as diffusion models have it."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError
from tilewright.relax.frontend.nn import op
from tilewright.relax.frontend.nn.containers import ModuleList
from tilewright.relax.frontend.nn.layers.linear import Linear
from tilewright.relax.frontend.nn.layers.normalization import GroupNorm
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.tensor import Tensor


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
