"""Graphs: blocks of models, and operators of symbolic sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from tools.replay.program import ALL, Program, Texts
from tools.replay.record import record_graph

from tilewright import relax, te
from tilewright.relax.frontend import nn
from tilewright.relax.frontend.nn import op


class ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut, as in ResNet."""

    def __init__(self, channels: int) -> None:
        self.first = nn.Conv2D(channels, channels, 3, 1, 1)
        self.second = nn.Conv2D(channels, channels, 3, 1, 1)
        self.norm = nn.GroupNorm(4, channels)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        y = op.relu(self.norm(self.first(x)))
        return op.relu(self.second(y) + x)


class EncoderLayer(nn.Module):
    """Attention and two linear layers, each beside a shortcut and normalised, as in BERT."""

    def __init__(self, hidden: int, heads: int) -> None:
        self.hidden, self.heads = hidden, heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.output = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        batch, words = x.shape[0], x.shape[1]
        parts = op.split(self.qkv(x), 3, axis=-1)
        size = self.hidden // self.heads
        query, key, value = (op.reshape(p, batch, words, self.heads, size) for p in parts)
        attended = op.scaled_dot_product_attention(query, key, value)
        x = self.attention_norm(x + self.output(op.reshape(attended, batch, words, self.hidden)))
        return self.norm(x + self.contract(op.gelu(self.expand(x))))


class Perceptron(nn.Module):
    """Linear layers with a rectifier between them."""

    def __init__(self, *sizes: int) -> None:
        self.layers = nn.ModuleList(
            [nn.Linear(before, after) for before, after in itertools.pairwise(sizes)]
        )

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        *inner, last = self.layers
        for layer in inner:
            x = op.relu(layer(x))
        return op.softmax(last(x), axis=-1)


def model(
    make: Callable[[], nn.Module], shape: Sequence[Any], *, dtype: str = "float32",
    bound: bool = False,
) -> Callable[[Any, Texts], None]:  # fmt: skip
    """For a `Program` from a module.

    Args:
        make: makes the module.
        shape: of its input; names are symbolic sizes.
        dtype: of its input and parameters.
        bound: whether the parameters are constants, which are packed.
    """

    def record(target: Any, texts: Texts) -> None:
        module = make()
        if dtype != "float32":
            module.to(dtype)
        spec = {"forward": {"x": nn.spec.Tensor(list(shape), dtype)}}
        mod, params = module.export_tvm(spec)[:2]
        if bound:
            rng = np.random.default_rng(0)
            values = {name: rng.standard_normal(p.shape).astype(dtype) for name, p in params}
            mod = relax.transform.BindParams("forward", values)(mod)
        record_graph(mod, target, texts)

    return record


def transformer(target: Any, texts: Texts) -> None:
    """The transformer of the examples, with caches of keys and values."""
    from examples.nn_transformer import SPEC, Transformer

    record_graph(Transformer().export_tvm(SPEC)[0], target, texts)


def operators(
    make: Callable[..., Any], *inputs: tuple[Sequence[Any], str]
) -> Callable[[Any, Texts], None]:
    """For a `Program` of operators.

    Args:
        make: makes the result from variables.
        inputs: their shapes, where a name is a symbolic size, and dtypes.
    """

    def record(target: Any, texts: Texts) -> None:
        sizes: dict[str, Any] = {}
        variables = []
        for number, (shape, dtype) in enumerate(inputs):
            extents = [
                sizes.setdefault(e, te.var(e, "int64")) if isinstance(e, str) else e for e in shape
            ]
            info = relax.TensorStructInfo(extents, dtype)
            variables.append(relax.Var(f"x{number}", info))
        builder = relax.BlockBuilder()
        with builder.function("main", variables):
            with builder.dataflow():
                result = builder.emit_output(make(*variables))
            builder.emit_func_output(result)
        record_graph(builder.get(), target, texts)

    return record


R = relax.op
GRAPHS: dict[str, Callable[[Any, Texts], None]] = {
    "matmul, add, relu": operators(
        lambda x, w, b: R.nn.relu(R.add(R.matmul(x, w), b)),
        ((64, 96), "float32"), ((96, 128), "float32"), ((128,), "float32"),
    ),
    "matmul, add, relu of n rows": operators(
        lambda x, w, b: R.nn.relu(R.add(R.matmul(x, w), b)),
        (("n", 96), "float32"), ((96, 128), "float32"), ((128,), "float32"),
    ),
    "attention of any size": operators(
        lambda q, k, v: R.matmul(R.nn.softmax(R.matmul(q, R.permute_dims(k, [0, 2, 1]))), v),
        *((("b", "n", 32), "float32"),) * 3,
    ),
    "convolution and pooling": operators(
        lambda x, w: R.nn.max_pool2d(R.nn.relu(R.nn.conv2d(x, w, padding=1)), (2, 2), (2, 2)),
        ((1, 8, 16, 16), "float32"), ((16, 8, 3, 3), "float32"),
    ),
    "mean and variance": operators(
        lambda x: R.divide(
            R.subtract(x, R.mean(x, -1, keepdims=True)),
            R.sqrt(R.variance(x, -1, keepdims=True)),
        ),
        (("m", "n"), "float32"),
    ),
    "strided slices": operators(
        lambda x: R.concat(
            [R.strided_slice(x, [1], [0], [4]), R.strided_slice(x, [1], [4], [8])], axis=0
        ),
        (("n", 8), "float16"),
    ),
    "gathers": operators(
        lambda x, i: R.sum(R.take(x, i, axis=0), axis=1),
        ((100, 33), "float32"), (("n",), "int64"),
    ),
    "sort and cumsum": operators(lambda x: R.cumsum(R.sort(x), axis=-1), (("n", 20), "float64")),
    "quantised product": operators(
        lambda x, w: R.matmul(x, w, out_dtype="int32"), ((8, 64), "int8"), ((64, 32), "int8")
    ),
    "halves": operators(
        lambda x, w: R.astype(R.nn.silu(R.matmul(x, w)), "float32"),
        (("n", 64), "bfloat16"), ((64, 48), "bfloat16"),
    ),
    "where and comparisons": operators(
        lambda x, y: R.where(R.greater(x, y), R.exp(x), R.log(R.abs(y))),
        (("n", "m"), "float32"), (("m",), "float32"),
    ),
    "einsum": operators(
        lambda x, y: R.einsum((x, y), "bij,bjk->bik"),
        ((3, 5, 7), "float32"), ((3, 7, 9), "float32"),
    ),
    "residual block": model(lambda: ResidualBlock(16), (1, 16, 14, 14)),
    "residual block, constants": model(lambda: ResidualBlock(16), (1, 16, 14, 14), bound=True),
    "residual block of n images": model(lambda: ResidualBlock(16), ("n", 16, 14, 14)),
    "encoder layer": model(lambda: EncoderLayer(64, 4), (1, 32, 64)),
    "encoder layer, constants": model(lambda: EncoderLayer(64, 4), (1, 32, 64), bound=True),
    "encoder layer of any size": model(lambda: EncoderLayer(64, 4), ("batch", "words", 64)),
    "encoder layer of float16": model(lambda: EncoderLayer(64, 4), (1, 32, 64), dtype="float16"),
    "perceptron, constants": model(lambda: Perceptron(784, 128, 10), (1, 784), bound=True),
    "perceptron of n rows": model(lambda: Perceptron(784, 128, 10), ("n", 784)),
    "transformer with caches": transformer,
}  # fmt: skip


def programs() -> Iterator[Program]:
    """Each graph for one target of LLVM, and for C."""
    for number, (name, record) in enumerate(GRAPHS.items()):
        yield Program(f"graph/{name}", record, (ALL[number % 3], "c"))


PROGRAMS = tuple(programs())
