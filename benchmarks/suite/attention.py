"""Attention of all queries of a sequence to all of its keys."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.harness import cpu, threads
from benchmarks.harness.peers import numpy_peer, onnx_peer, tensors, torch_peers
from benchmarks.suite.work import Call, Work
from tilewright import relax
from tilewright.tir import PrimFunc

BFLOAT16_ERROR = 8e-3
"""Products of rounded powers are rounded once more."""


def program(heads: int, length: int, size: int, dtype: str) -> PrimFunc:
    """What `R.nn.attention` becomes for operands with the heads before the sequence."""
    info = relax.TensorStructInfo((1, heads, length, size), dtype)
    operands = [relax.Var(name, info) for name in ("query", "key", "value")]
    builder = relax.BlockBuilder()
    with builder.function("main", operands):
        heads_second = [builder.emit(relax.op.permute_dims(x, (0, 2, 1, 3))) for x in operands]
        builder.emit_func_output(builder.emit(relax.op.nn.attention(*heads_second)))
    with cpu.target():
        module = relax.transform.FuseTransposeMatmul()(builder.get())
        module = relax.transform.LegalizeOps()(module)
        module = relax.transform.DeadCodeElimination()(module)
    (function,) = (f for f in module.functions.values() if isinstance(f, PrimFunc))
    return function.with_attr("global_symbol", "main")


def softmax(x: np.ndarray) -> np.ndarray:
    """The softmax of each row."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attention(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The result, ``(batch, sequence, heads, size)``."""
    scores = query @ key.swapaxes(2, 3) / math.sqrt(query.shape[3])
    return (softmax(scores) @ value).swapaxes(1, 2)


def nodes(size: int) -> Any:
    """The nodes of a model."""

    def make(helper: Any) -> list[Any]:
        return [
            helper.make_node("Transpose", ["x1"], ["keys"], perm=[0, 1, 3, 2]),
            helper.make_node("MatMul", ["x0", "keys"], ["products"]),
            helper.make_node("Constant", [], ["factor"], value_float=1 / math.sqrt(size)),
            helper.make_node("Mul", ["products", "factor"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
            helper.make_node("MatMul", ["weights", "x2"], ["mixed"]),
            helper.make_node("Transpose", ["mixed"], ["y"], perm=[0, 2, 1, 3]),
        ]

    return make


def torch_attention(torch: Any, query: Any, key: Any, value: Any) -> Any:
    """torch's operator; the sequence comes before the heads then, as ours has it."""
    return torch.nn.functional.scaled_dot_product_attention(query, key, value).transpose(1, 2)


def torch_bfloat16(*inputs: np.ndarray) -> Call:
    """torch's operator, whose results numpy cannot read."""
    import torch

    torch.set_num_threads(threads.count())
    operands = tensors(torch, inputs)

    def call() -> None:
        with torch.inference_mode():
            torch_attention(torch, *operands)

    return call


def heads_of_a_sequence(heads: int, length: int, size: int, dtype: str = "float32") -> Work:
    """Attention of `heads` heads."""
    is_narrow = dtype == "bfloat16"
    kind = ml_dtypes.bfloat16 if is_narrow else np.dtype(dtype)
    shape = (1, heads, length, size)
    peers = {
        "numpy": numpy_peer(attention),
        **torch_peers(torch_attention),
        "onnxruntime": onnx_peer(nodes(size)),
    }
    return Work(
        name=f"{'bfloat16 ' if is_narrow else ''}attention {heads}x{length}x{size}",
        program=lambda: program(heads, length, size, dtype),
        schedule=None,
        inputs=lambda rng: [rng.standard_normal(shape, "float32").astype(kind) for _ in range(3)],
        reference=attention,
        peers={"torch": torch_bfloat16} if is_narrow else peers,
        flop=4 * heads * length * length * size,
        bytes=4 * math.prod(shape) * (2 if is_narrow else 4),
        against=("torch",) if is_narrow else ("numpy", "torch"),
        default_aim=1.0,
        relative_error=BFLOAT16_ERROR if is_narrow else 1e-5,
    )


WORKS = (
    heads_of_a_sequence(12, 128, 64),
    heads_of_a_sequence(12, 512, 64),
    heads_of_a_sequence(12, 512, 64, "bfloat16"),
)
