"""Normalisation by means and variances."""

from __future__ import annotations

from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.table import UnsupportedError


@converts("BatchNormalization", since=9)
def batch_norm(
    graph: Graph, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *,
    epsilon: float = 1e-5, momentum: float = 0.9, training_mode: int = 0,
) -> Any:  # fmt: skip
    """Each channel by a mean and a variance, those of training or those of the batch."""
    dtype = graph.dtype_of(x)
    if training_mode:
        return _in_training(graph, x, scale, bias, mean, variance, epsilon, momentum)
    if len({graph.dtype_of(value) for value in (x, scale, bias, mean, variance)}) > 1:
        wide = [graph.cast(value, "float32") for value in (x, scale, bias, mean, variance)]
        pair = graph.emit(op.nn.batch_norm(*wide, axis=1, epsilon=epsilon))
        return graph.cast(graph.emit(pair[0]), dtype)
    pair = graph.emit(op.nn.batch_norm(x, scale, bias, mean, variance, axis=1, epsilon=epsilon))
    return pair[0]


def _in_training(
    graph: Graph, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float,
    momentum: float,
) -> list[Any]:  # fmt: skip
    """The same with the mean and variance of the batch, and the statistics with these added."""
    axes = [axis for axis in range(graph.rank_of(x)) if axis != 1]
    thin = [1, graph.shape_of(scale)[0], *[1] * (graph.rank_of(x) - 2)]
    own_mean = graph.emit(op.mean(x, axes))
    own_variance = graph.emit(op.variance(x, axes))
    shifted = op.subtract(x, graph.reshape(own_mean, thin))
    spread = op.sqrt(op.add(own_variance, graph.scalar_like(epsilon, x)))
    factor = graph.emit(op.divide(scale, spread))
    value = op.add(op.multiply(shifted, graph.reshape(factor, thin)), graph.reshape(bias, thin))
    statistics = [
        op.add(op.multiply(old, graph.scalar_like(momentum, old)),
               op.multiply(new, graph.scalar_like(1 - momentum, old)))
        for old, new in ((mean, own_mean), (variance, own_variance))
    ]  # fmt: skip
    return [value, *statistics]


@converts("InstanceNormalization")
def instance_norm(graph: Graph, x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    """Each channel of each element of the batch by its own mean and variance."""
    axes = list(range(2, graph.rank_of(x)))
    return op.nn.instance_norm(x, scale, bias, channel_axis=1, axes=axes, epsilon=epsilon)


@converts("LayerNormalization")
def layer_norm(
    graph: Graph, x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> list[Any]:  # fmt: skip
    """The dimensions from `axis` on by their own mean and variance, and what these are."""
    rank = graph.rank_of(x)
    axes = list(range(graph.axis(axis, rank), rank))
    shape = graph.shape_of(x)[axes[0] :]
    results: list[Any] = [_layer_normed(graph, x, scale, bias, axes, shape, epsilon), None, None]
    if graph.has_result(1) or graph.has_result(2):
        wide = graph.cast(x, "float32" if stash_type == 1 else graph.dtype_of(x))
        spread = op.add(op.variance(wide, axes, True), graph.scalar_like(epsilon, wide))
        results[1:] = [op.mean(wide, axes, True), op.rsqrt(graph.emit(spread))]
    return results


def _layer_normed(
    graph: Graph, x: Any, scale: Any, bias: Any, axes: list[int], shape: list[Any], epsilon: float
) -> Any:
    dtype = graph.dtype_of(x)
    if graph.same_shape(scale, shape) and (bias is None or graph.same_shape(bias, shape)):
        if bias is None:
            bias = graph.emit(op.full(shape, graph.operand(0, dtype), dtype))
        return op.nn.layer_norm(x, scale, bias, axes=axes, epsilon=epsilon)
    ones = graph.emit(op.full(shape, graph.operand(1, dtype), dtype))
    zeros = graph.emit(op.full(shape, graph.operand(0, dtype), dtype))
    value = op.multiply(op.nn.layer_norm(x, ones, zeros, axes=axes, epsilon=epsilon), scale)
    return value if bias is None else op.add(value, bias)


@converts("RMSNormalization")
def rms_norm(
    graph: Graph, x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """The dimensions from `axis` on by the root of their mean square."""
    rank = graph.rank_of(x)
    axes = list(range(graph.axis(axis, rank), rank))
    shape = graph.shape_of(x)[axes[0] :]
    if graph.same_shape(scale, shape) and graph.dtype_of(scale) == graph.dtype_of(x):
        return op.nn.rms_norm(x, scale, axes=axes, epsilon=epsilon)
    dtype = graph.dtype_of(x)
    ones = graph.emit(op.full(shape, graph.operand(1, dtype), dtype))
    value = graph.emit(op.nn.rms_norm(x, ones, axes=axes, epsilon=epsilon))
    return op.multiply(graph.cast(value, graph.dtype_of(scale)), scale)


@converts("GroupNormalization", since=21)
def group_norm(
    graph: Graph, x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Any:  # fmt: skip
    """Groups of channels by their own mean and variance."""
    axes = list(range(2, graph.rank_of(x)))
    return op.nn.group_norm(
        x, scale, bias, num_groups=num_groups, channel_axis=1, axes=axes, epsilon=epsilon
    )


@converts("LpNormalization")
def lp_norm(graph: Graph, x: Any, *, axis: int = -1, p: int = 2) -> Any:
    """Vectors along an axis divided by their norms; those of norm 0 stay."""
    if p not in (1, 2):
        raise UnsupportedError(f"the norm of order {p} is not supported")
    total = op.sum(op.abs(x) if p == 1 else op.multiply(x, x), axis, True)
    norm = graph.emit(total if p == 1 else op.sqrt(graph.emit(total)))
    zero = op.equal(norm, graph.scalar_like(0, x))
    return op.where(
        zero, graph.scalar_like(0, x), op.divide(x, op.where(zero, graph.scalar_like(1, x), norm))
    )


@converts("LRN")
def local_response_norm(
    graph: Graph, x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1
) -> Any:
    """Each element by the squares of its neighbours in other channels."""
    rank = graph.rank_of(x)
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    widths = [0] * (2 * rank)
    widths[2:4] = before, after
    squares = graph.emit(op.nn.pad(graph.emit(op.multiply(x, x)), widths))
    channels = graph.shape_of(x)[1]
    parts = [graph.emit(op.strided_slice(squares, [1], [n], [channels + n])) for n in range(size)]
    total = parts[0]
    for part in parts[1:]:
        total = op.add(total, part)
    base = op.add(
        op.multiply(total, graph.scalar_like(alpha / size, x)), graph.scalar_like(bias, x)
    )
    return op.divide(x, op.power(graph.emit(base), graph.scalar_like(beta, x)))
