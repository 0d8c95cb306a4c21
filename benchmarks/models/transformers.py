"""Transformers of torch with random weights, each after its paper, with few layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention, silu

Cache = tuple[Tensor, Tensor]
"""Keys and values of earlier words, (batch, head, word, size of the head)."""


def cache_of(caches: tuple[Tensor, ...], layer: int) -> Cache | None:
    """The keys and values of a layer, if there are any."""
    return (caches[2 * layer], caches[2 * layer + 1]) if caches else None


class Layer(nn.Module):
    """Attention and two linear layers, each normalised first and beside a shortcut."""

    def __init__(self, hidden: int, heads: int, activation: Callable[[Tensor], Tensor]):
        super().__init__()
        self.heads, self.activation = heads, activation
        self.attention_norm, self.norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.queries_keys_values = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.expand, self.contract = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x: Tensor, cache: Cache | None, is_causal: bool) -> tuple[Tensor, Cache]:
        parts = self.queries_keys_values(self.attention_norm(x)).chunk(3, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        if cache is not None:
            key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
        y = scaled_dot_product_attention(query, key, value, is_causal=is_causal)
        x = x + self.output(y.transpose(1, 2).flatten(2))
        x = x + self.contract(self.activation(self.expand(self.norm(x))))
        return x, (key, value)


class ImageTransformer(nn.Module):
    """Dosovitskiy et al., "An Image is Worth 16x16 Words" (2020): ViT-B/16."""

    def __init__(self, layers: int, hidden: int = 768, heads: int = 12, size: int = 224):
        super().__init__()
        self.patches = nn.Conv2d(3, hidden, 16, 16)
        self.first = nn.Parameter(torch.randn(1, 1, hidden))
        self.places = nn.Parameter(torch.randn(1, (size // 16) ** 2 + 1, hidden))
        self.layers = nn.ModuleList(Layer(hidden, heads, gelu) for _ in range(layers))
        self.norm, self.scores = nn.LayerNorm(hidden), nn.Linear(hidden, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), 1) + self.places
        for layer in self.layers:
            x, _ = layer(x, None, False)
        return self.scores(self.norm(x)[:, 0])


def _gelu_by_tanh(x: Tensor) -> Tensor:
    return gelu(x, approximate="tanh")


class Gpt2(nn.Module):
    """Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), small."""

    def __init__(self, layers: int, hidden: int = 768, heads: int = 12, words: int = 50257):
        super().__init__()
        self.words, self.places = nn.Embedding(words, hidden), nn.Embedding(1024, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads, _gelu_by_tanh) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, words: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        """The scores of the next word, and the keys and values of each layer."""
        before = caches[0].shape[2] if caches else 0
        x = self.words(words) + self.places(torch.arange(before, before + words.shape[1]))
        changed: list[Tensor] = []
        for position, layer in enumerate(self.layers):
            x, after = layer(x, cache_of(caches, position), not caches)
            changed += after
        return self.norm(x[:, -1]) @ self.words.weight.T, *changed


class RootMeanSquares(nn.Module):
    """`torch.nn.RMSNorm` in operators that every exporter of models knows."""

    def __init__(self, hidden: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class LlamaLayer(nn.Module):
    """Attention with rotated keys that heads share, and a gated pair of linear layers."""

    def __init__(self, hidden: int, heads: int, shared: int, inner: int):
        super().__init__()
        self.heads, self.shared, size = heads, shared, hidden // heads
        self.attention_norm, self.norm = RootMeanSquares(hidden), RootMeanSquares(hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(hidden, shared * size, bias=False)
        self.value = nn.Linear(hidden, shared * size, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)
        self.gate, self.up = (nn.Linear(hidden, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], cache: Cache | None
    ) -> tuple[Tensor, Cache]:
        y = self.attention_norm(x)
        query = rotated(self.split(self.query(y), self.heads), *angles)
        key = rotated(self.split(self.key(y), self.shared), *angles)
        value = self.split(self.value(y), self.shared)
        if cache is not None:
            key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
        copies = self.heads // self.shared
        y = scaled_dot_product_attention(
            query, key.repeat_interleave(copies, 1), value.repeat_interleave(copies, 1),
            is_causal=cache is None,
        )  # fmt: skip
        x = x + self.output(y.transpose(1, 2).flatten(2))
        y = self.norm(x)
        return x + self.down(silu(self.gate(y)) * self.up(y)), (key, value)

    @staticmethod
    def split(x: Tensor, heads: int) -> Tensor:
        """(batch, word, hidden) to (batch, head, word, hidden of the head)."""
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Su et al., "RoFormer" (2021): pairs of elements turned by angles of their places."""
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class Llama(nn.Module):
    """Touvron et al., "LLaMA" (2023), with the sizes of TinyLlama-1.1B and fewer words."""

    def __init__(
        self, layers: int, hidden: int = 2048, heads: int = 32, shared: int = 4,
        inner: int = 5632, words: int = 8192,
    ):  # fmt: skip
        super().__init__()
        self.words = nn.Embedding(words, hidden)
        self.layers = nn.ModuleList(LlamaLayer(hidden, heads, shared, inner) for _ in range(layers))
        self.norm, self.scores = RootMeanSquares(hidden), nn.Linear(hidden, words, bias=False)
        size = hidden // heads
        speeds = 10000.0 ** (-torch.arange(0, size, 2) / size)
        angles = torch.outer(torch.arange(1024.0), speeds).repeat(1, 2)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, words: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        """The scores of the next word, and the keys and values of each layer."""
        before = caches[0].shape[2] if caches else 0
        places = slice(before, before + words.shape[1])
        angles = self.cosine[places], self.sine[places]
        x = self.words(words)
        changed: list[Tensor] = []
        for position, layer in enumerate(self.layers):
            x, after = layer(x, angles, cache_of(caches, position))
            changed += after
        return self.scores(self.norm(x[:, -1])), *changed


def of_words(make: Callable[[], Any], number: int) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A language model and the words of a sentence, all read at once ("prefill")."""
    torch.manual_seed(0)
    model = make().eval()
    return model, (torch.randint(0, model.words.num_embeddings, (1, number)),)


def of_one_word(
    make: Callable[[], Any], before: int, heads: int, size: int
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A language model, one word, and keys and values of the words before ("decode")."""
    model, words = of_words(make, 1)
    caches = [torch.randn(1, heads, before, size) for _ in range(2 * len(model.layers))]
    return model, (*words, *caches)


def of_an_image(make: Callable[[], nn.Module]) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A transformer and an image."""
    torch.manual_seed(0)
    return make().eval(), (torch.randn(1, 3, 224, 224),)
