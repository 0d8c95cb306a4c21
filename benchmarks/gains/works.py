"""Programs and models of awkward sizes, which neither tiles nor vectors divide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tilewright import relax, te, topi
from tilewright.ir import IRModule
from tilewright.tir import PrimFunc


def _program(make: Callable[..., te.Tensor], *shapes: tuple[int, ...]) -> PrimFunc:
    inputs = [te.placeholder(shape, name=f"X{n}") for n, shape in enumerate(shapes)]
    return te.create_prim_func([*inputs, make(*inputs)])


def _convolution(stride: int, padding: int, dilation: int) -> Callable[..., te.Tensor]:
    return lambda x, w: topi.nn.relu(topi.nn.conv2d(x, w, stride, padding, dilation))


def _grouped(groups: int) -> Callable[..., te.Tensor]:
    return lambda x, w: topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, groups)


PROGRAMS: Final[dict[str, Callable[[], PrimFunc]]] = {
    "conv 5x5, 48 to 64, 35x35": lambda: _program(
        _convolution(1, 2, 1), (1, 48, 35, 35), (64, 48, 5, 5)
    ),
    "conv 3x3, stride 2, 40 to 72, 57x57": lambda: _program(
        _convolution(2, 1, 1), (1, 40, 57, 57), (72, 40, 3, 3)
    ),
    "conv 3x3, dilation 3, 24 to 40, 45x45": lambda: _program(
        _convolution(1, 3, 3), (1, 24, 45, 45), (40, 24, 3, 3)
    ),
    "conv 3x3, 6 groups, 48 to 72, 29x29": lambda: _program(
        _grouped(6), (1, 48, 29, 29), (72, 8, 3, 3)
    ),
    "conv 7x7, stride 2, 3 to 30, 113x113": lambda: _program(
        _convolution(2, 3, 1), (1, 3, 113, 113), (30, 3, 7, 7)
    ),
    "matmul 7x1024 @ 1024x512": lambda: _program(topi.matmul, (7, 1024), (1024, 512)),
    "matmul 133x211 @ 211x97": lambda: _program(topi.matmul, (133, 211), (211, 97)),
    "max of rows 640x1500": lambda: _program(lambda x: topi.max(x, axis=1), (640, 1500)),
    "sum of rows 517x1021": lambda: _program(lambda x: topi.sum(x, axis=1), (517, 1021)),
    "softmax 300x1500": lambda: _program(topi.nn.softmax, (300, 1500)),
}


def residual_network(channels: Sequence[int], size: int, blocks: int, stem: int) -> IRModule:
    """A network of residual blocks with random weights, which are constants.

    Args:
        channels: of each stage; the image is halved between stages.
        size: rows and columns of the image, which has three channels.
        blocks: of each stage.
        stem: rows and columns of the window of the first convolution. One of 7 is followed by a
            pooling.
    """
    builder = relax.BlockBuilder()
    random = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((1, 3, size, size), "float32"))

    def conv(value: Any, before: int, after: int, window: int, stride: int) -> Any:
        weights = random.standard_normal((after, before, window, window)) / (window * before**0.5)
        result = relax.op.nn.conv2d(
            value, relax.const(weights.astype("float32")), strides=stride, padding=window // 2
        )
        bias = random.standard_normal((1, after, 1, 1)).astype("float32")
        return builder.emit(relax.op.add(builder.emit(result), relax.const(bias)))

    def relu(value: Any) -> Any:
        return builder.emit(relax.op.nn.relu(value))

    with builder.function("main", [x]):
        with builder.dataflow():
            value, last = relu(conv(x, 3, channels[0], stem, 2)), channels[0]
            if stem == 7:
                value = builder.emit(relax.op.nn.max_pool2d(value, (3, 3), 2, 1))
            for stage, count in enumerate(channels):
                for block in range(blocks):
                    stride = 2 if stage and not block else 1
                    inner = relu(conv(value, last, count, 3, stride))
                    inner = conv(inner, count, count, 3, 1)
                    if last != count:
                        value = conv(value, last, count, 1, stride)
                    value, last = relu(builder.emit(relax.op.add(inner, value))), count
            output = builder.emit_output(builder.emit(relax.op.mean(value, (2, 3))))
        builder.emit_func_output(output)
    return builder.get()


def transformer(layers: int, width: int, heads: int, words: int) -> IRModule:
    """The layers of an encoder such as BERT with random weights, which are constants.

    Args:
        layers: number of layers.
        width: number of features of a word; four times as many between the two last products.
        heads: number of heads of the attention.
        words: number of words of the sequence.
    """
    builder = relax.BlockBuilder()
    random = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((1, words, width), "float32"))
    emit, op = builder.emit, relax.op

    def linear(value: Any, inputs: int, outputs: int) -> Any:
        weights = random.standard_normal((inputs, outputs), "float32") / np.float32(inputs**0.5)
        bias = relax.const(random.standard_normal(outputs, "float32"))
        return emit(op.add(emit(op.matmul(value, relax.const(weights))), bias))

    def in_heads(value: Any) -> Any:
        parts = emit(op.reshape(value, (1, words, heads, width // heads)))
        return emit(op.permute_dims(parts, (0, 2, 1, 3)))

    def norm(value: Any) -> Any:
        scale = relax.const(np.ones(width, "float32"))
        shift = relax.const(np.zeros(width, "float32"))
        return emit(op.nn.layer_norm(value, scale, shift, axes=[-1]))

    def attention(value: Any) -> Any:
        queries, keys, values = (in_heads(linear(value, width, width)) for _ in range(3))
        scores = emit(op.matmul(queries, emit(op.permute_dims(keys, (0, 1, 3, 2)))))
        scaled = emit(op.multiply(scores, relax.const((width // heads) ** -0.5, "float32")))
        mixed = emit(op.matmul(emit(op.nn.softmax(scaled)), values))
        joined = emit(op.reshape(emit(op.permute_dims(mixed, (0, 2, 1, 3))), (1, words, width)))
        return linear(joined, width, width)

    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for _ in range(layers):
                value = norm(emit(op.add(value, attention(value))))
                inner = emit(op.nn.gelu(linear(value, width, 4 * width)))
                value = norm(emit(op.add(value, linear(inner, 4 * width, width))))
            output = builder.emit_output(value)
        builder.emit_func_output(output)
    return builder.get()


MODELS: Final[dict[str, Callable[[], IRModule]]] = {
    "residual network, 48 to 192 channels, 140x140": lambda: residual_network(
        (48, 96, 192), 140, 2, 3
    ),
    "ResNet-18, 224x224": lambda: residual_network((64, 128, 256, 512), 224, 2, 7),
    "BERT, 12 layers, 128 words": lambda: transformer(12, 768, 12, 128),
}
"""Models, tuned for so many seconds."""
