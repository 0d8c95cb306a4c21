"""The first layers of BERT-base from PyTorch: import them, build them, compare numbers and times.

The weights are random. Batch and sequence are dynamic: one compiled model runs all of them. Needs
torch: ``pip install tilewright[torch]``.

    python examples/bert.py
    python examples/bert.py --layers 12
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class Layer(nn.Module):
    """Attention and two linear layers, each beside a shortcut and normalised."""

    def __init__(self, hidden: int, heads: int, inner: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.output = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.expand = nn.Linear(hidden, inner)
        self.contract = nn.Linear(inner, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = scaled_dot_product_attention(
            *(self.split(part(x)) for part in (self.query, self.key, self.value)), attn_mask=mask
        )
        x = self.attention_norm(x + self.output(y.transpose(1, 2).flatten(2)))
        return self.norm(x + self.contract(gelu(self.expand(x))))

    def split(self, x: Tensor) -> Tensor:
        """(batch, sequence, hidden) to (batch, head, sequence, hidden of the head)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Bert(nn.Module):
    """Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019)."""

    def __init__(
        self, layers: int = 2, hidden: int = 768, heads: int = 12, words: int = 30522,
        positions: int = 512,
    ):  # fmt: skip
        super().__init__()
        self.words = nn.Embedding(words, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.types = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads, 4 * hidden) for _ in range(layers))
        self.pool = nn.Linear(hidden, hidden)

    def forward(self, words: Tensor, types: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(words.shape[1])
        x = self.norm(self.words(words) + self.positions(places) + self.types(types))
        mask = (1.0 - seen[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pool(x[:, 0]))


def random_bert(**options: int) -> Bert:
    """Layers of BERT with random weights, ready to be exported."""
    torch.manual_seed(0)
    return Bert(**options).eval()


def random_words(batch: int, sequence: int, words: int = 30522) -> tuple[Tensor, Tensor, Tensor]:
    """Random sentences, of which the last words are padding."""
    seen = torch.ones(batch, sequence, dtype=torch.int64)
    seen[:, sequence - sequence // 8 :] = 0
    tokens = torch.randint(0, words, (batch, sequence))
    return tokens, torch.randint(0, 2, (batch, sequence)), seen


def main() -> None:
    from beside_torch import compare

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=2)
    layers = parser.parse_args().layers
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=512)}
    compare(
        f"BERT-base, {layers} layers",
        random_bert(layers=layers),
        [(f"batch {b}, {s} words", random_words(b, s)) for b, s in ((1, 128), (3, 128), (1, 77))],
        dynamic_shapes=(sizes, sizes, sizes),
    )


if __name__ == "__main__":
    main()
