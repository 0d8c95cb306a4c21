"""A transformer as `nn` modules: prompts are read by `prefill`, tokens are added by `decode`.

The keys and values of all tokens so far are in caches, the state of the module, so that a step
computes what is new only. The tokens are compared with those of a numpy program without caches.

python examples/nn_transformer.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tvm
from tilewright import relax, tir
from tilewright.relax.frontend import nn
from tilewright.relax.frontend.nn import op

VOCABULARY, LAYERS, HEADS, SIZE, LONGEST = 97, 2, 4, 16, 64
HIDDEN = HEADS * SIZE


class Attention(nn.Module):
    """Attention of new tokens to all tokens so far."""

    def __init__(self) -> None:
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.keys = nn.KVCache(LONGEST, [HEADS, SIZE])
        self.values = nn.KVCache(LONGEST, [HEADS, SIZE])

    def forward(self, x: nn.Tensor, total: tir.Var, mask: nn.Tensor) -> nn.Tensor:
        new = x.shape[1]
        query, key, value = op.split(self.qkv(x), 3, axis=-1)
        self.keys.append(op.reshape(key, new, HEADS, SIZE))
        self.values.append(op.reshape(value, new, HEADS, SIZE))
        attended = op.scaled_dot_product_attention(
            op.reshape(query, 1, new, HEADS, SIZE),
            op.reshape(self.keys.view(total), 1, total, HEADS, SIZE),
            op.reshape(self.values.view(total), 1, total, HEADS, SIZE),
            mask,
        )
        return self.out(op.reshape(attended, 1, new, HIDDEN))


class Block(nn.Module):
    """Attention and two linear layers, both beside a shortcut."""

    def __init__(self) -> None:
        self.norm1 = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.attention = Attention()
        self.norm2 = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(HIDDEN, 2 * HIDDEN), nn.SiLU(), nn.Linear(2 * HIDDEN, HIDDEN)
        )

    def forward(self, x: nn.Tensor, total: tir.Var, mask: nn.Tensor) -> nn.Tensor:
        x = x + self.attention(self.norm1(x), total, mask)
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Scores of the next token."""

    def __init__(self) -> None:
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.positions = nn.Embedding(LONGEST, HIDDEN)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(HIDDEN, -1, bias=False)

    def scores(self, tokens: nn.Tensor, total: tir.Var) -> nn.Tensor:
        """The scores ``(1, 1, VOCABULARY)`` after the last of `tokens`; `total` are known then."""
        new = tokens.shape[1]
        places = op.arange(total - new, total, dtype="int32")
        x = self.tokens(tokens) + self.positions(places)
        # Query i, the token total - new + i, attends to the tokens up to itself.
        keys = op.reshape(op.arange(0, total, dtype="int32"), 1, 1, 1, total)
        allowed = keys <= op.reshape(places, 1, 1, new, 1)
        mask = op.where(allowed, nn.Tensor.from_scalar(0, x.dtype), tir.min_value(x.dtype).value)
        for block in self.blocks:
            x = block(x, total, mask)
        last = op.take(x, op.arange(new - 1, new, dtype="int32"), axis=1)
        return op.matmul(self.norm(last), op.permute_dims(self.tokens.weight))

    def prefill(self, tokens: nn.Tensor, total: tir.Var) -> nn.Tensor:
        """Read a prompt."""
        return self.scores(tokens, total)

    def decode(self, token: nn.Tensor, total: tir.Var) -> nn.Tensor:
        """Read one more token."""
        return self.scores(token, total)


SPEC = {
    "prefill": {"tokens": nn.spec.Tensor([1, "n"], "int32"), "total": int},
    "decode": {"token": nn.spec.Tensor([1, 1], "int32"), "total": int},
}


# --- the same in numpy ------------------------------------------------------------------------


def reference(weights: dict[str, np.ndarray], tokens: list[int]) -> np.ndarray:
    """The scores after `tokens`, computed from the beginning."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0)

    count = len(tokens)
    x = weights["tokens.weight"][tokens] + weights["positions.weight"][:count]
    hidden_from = np.triu(np.full((count, count), -np.inf), 1)
    for i in range(LAYERS):
        name = f"blocks.{i}"
        parts = np.split(linear(norm(x, f"{name}.norm1"), f"{name}.attention.qkv"), 3, -1)
        q, k, v = (part.reshape(count, HEADS, SIZE).swapaxes(0, 1) for part in parts)
        products = q @ k.swapaxes(1, 2) / np.sqrt(SIZE) + hidden_from
        shares = np.exp(products - products.max(-1, keepdims=True))
        attended = shares / shares.sum(-1, keepdims=True) @ v
        x = x + linear(attended.swapaxes(0, 1).reshape(count, HIDDEN), f"{name}.attention.out")
        inner = linear(norm(x, f"{name}.norm2"), f"{name}.mlp.0")
        x = x + linear(inner / (1 + np.exp(-inner)), f"{name}.mlp.2")
    return norm(x[-1], "norm") @ weights["tokens.weight"].T


# --- running ----------------------------------------------------------------------------------


def main() -> None:
    model = Transformer()
    mod, params = model.export_tvm(SPEC)
    for name in ("_initialize_effect", "prefill", "decode"):
        function = mod[name]
        inputs = int(function.attrs["num_input"]) if "num_input" in function.attrs else 0
        print(f"{name}: {inputs} inputs and caches, {len(function.params) - inputs} parameters")

    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(param.shape) * 0.2).astype("float32")
        for name, param in params
    }
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    caches = vm["_initialize_effect"]()
    values = [tvm.nd.array(weights[name]) for name, _ in params]

    def step(name: str, tokens: list[int], total: int, caches: Any) -> tuple[np.ndarray, Any]:
        """The scores after more tokens, and the changed caches."""
        inputs = np.array([tokens], "int32"), (total,)
        scores, caches = vm[name](*inputs, *caches, *values)
        return scores.numpy()[0, 0], caches

    prompt = [5, 17, 42, 8]
    text = list(prompt)
    scores, caches = step("prefill", prompt, len(prompt), caches)
    largest = 0.0
    for _ in range(12):
        largest = max(largest, abs(scores - reference(weights, text)).max())
        text.append(int(scores.argmax()))
        scores, caches = step("decode", text[-1:], len(text), caches)
    print("prompt", prompt, "goes on with", text[len(prompt) :])
    print(f"largest difference of scores to numpy: {largest:.0e}")
    assert largest < 1e-3


if __name__ == "__main__":
    main()
