"""Normalisation by means and variances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tilewright.relax import const, op
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import converts


def _filled(graph: Graph, value: float, like: Any, extents: Sequence[Any]) -> Any:
    """A weight or bias that a module does not have."""
    dtype = graph.dtype_of(like)
    extents = [number(extent) for extent in extents]
    if all(isinstance(extent, int) for extent in extents):
        return const(np.full(extents, value), dtype)
    return graph.emit(op.full(extents, graph.operand(value, dtype), dtype))


@converts("aten.batch_norm")
def batch_norm(
    graph: Graph, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool,
    momentum: float, epsilon: float, *_: Any,
) -> Any:  # fmt: skip
    """Each channel by the mean and variance that training has found, or by its own."""
    if mean is None:
        return _by_batch(graph, x, weight, bias, epsilon)[0]
    if training:
        raise UnsupportedError("training changes the statistics; call model.eval() first")
    extents = graph.shape_of(mean)
    weight = _filled(graph, 1, mean, extents) if weight is None else weight
    bias = _filled(graph, 0, mean, extents) if bias is None else bias
    result = op.nn.batch_norm(x, weight, bias, mean, variance, axis=1, epsilon=epsilon)
    return graph.emit(graph.emit(result)[0])


def _by_batch(graph: Graph, x: Any, weight: Any, bias: Any, epsilon: float) -> list[Any]:
    """Each channel by its own mean and variance, and these."""
    rank = graph.rank_of(x)
    axes = [axis for axis in range(rank) if axis != 1]
    mean = graph.emit(op.mean(x, axes, True))
    spread = op.add(op.variance(x, axes, True), epsilon)
    inverse = graph.emit(op.rsqrt(spread))
    value = op.multiply(op.subtract(x, mean), inverse)
    thin = [1, -1, *[1] * (rank - 2)]
    value = value if weight is None else op.multiply(value, op.reshape(weight, thin))
    value = value if bias is None else op.add(value, op.reshape(bias, thin))
    return [graph.emit(value), *(graph.reshape(part, [-1]) for part in (mean, inverse))]


@converts("aten._native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(
    graph: Graph, x: Any, weight: Any, bias: Any, training: bool, momentum: float, epsilon: float
) -> list[Any]:
    """Each channel by its own mean and variance, and these."""
    return _by_batch(graph, x, weight, bias, epsilon)


@converts("aten._native_batch_norm_legit_no_training")
def batch_norm_without_training(
    graph: Graph, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, momentum: float,
    epsilon: float,
) -> list[Any]:  # fmt: skip
    """The same, with statistics of the batch that are empty outside training."""
    value = batch_norm(graph, x, weight, bias, mean, variance, False, momentum, epsilon)
    return [value, None, None]


@converts("aten.layer_norm")
def layer_norm(
    graph: Graph, x: Any, shape: Sequence[int], weight: Any = None, bias: Any = None,
    epsilon: float = 1e-5, *_: Any,
) -> Any:  # fmt: skip
    """The last dimensions by their own mean and variance."""
    weight = _filled(graph, 1, x, shape) if weight is None else weight
    bias = _filled(graph, 0, x, shape) if bias is None else bias
    axes = list(range(-len(shape), 0))
    return graph.emit(op.nn.layer_norm(x, weight, bias, axes=axes, epsilon=epsilon))


@converts("aten.native_layer_norm")
def native_layer_norm(
    graph: Graph, x: Any, shape: Sequence[int], weight: Any, bias: Any, epsilon: float
) -> list[Any]:
    """The same; the mean and the variance themselves are not given."""
    return [layer_norm(graph, x, shape, weight, bias, epsilon), None, None]


@converts("aten.rms_norm")
def rms_norm(
    graph: Graph, x: Any, shape: Sequence[int], weight: Any = None, epsilon: float | None = None
) -> Any:
    """The last dimensions by the root of their mean square."""
    weight = _filled(graph, 1, x, shape) if weight is None else weight
    if epsilon is None:
        computed = torch.float64 if graph.dtype_of(x) == "float64" else torch.float32
        epsilon = torch.finfo(computed).eps
    axes = list(range(-len(shape), 0))
    return graph.emit(op.nn.rms_norm(x, weight, axes=axes, epsilon=epsilon))


@converts("aten.group_norm")
def group_norm(
    graph: Graph, x: Any, groups: int, weight: Any = None, bias: Any = None,
    epsilon: float = 1e-5, *_: Any,
) -> Any:  # fmt: skip
    """Groups of channels by their own mean and variance."""
    channels = graph.shape_of(x)[1]
    weight = _filled(graph, 1, x, [channels]) if weight is None else weight
    bias = _filled(graph, 0, x, [channels]) if bias is None else bias
    axes = list(range(2, graph.rank_of(x)))
    value = op.nn.group_norm(
        x, weight, bias, num_groups=groups, channel_axis=1, axes=axes, epsilon=epsilon
    )
    return graph.emit(value)


@converts("aten.native_group_norm")
def native_group_norm(
    graph: Graph, x: Any, weight: Any, bias: Any, batch: Any, channels: Any, area: Any,
    groups: int, epsilon: float,
) -> list[Any]:  # fmt: skip
    """The same; the mean and the variance themselves are not given."""
    return [group_norm(graph, x, groups, weight, bias, epsilon), None, None]


@converts("aten.instance_norm")
def instance_norm(
    graph: Graph, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, by_input: bool,
    momentum: float, epsilon: float, *_: Any,
) -> Any:  # fmt: skip
    """Each channel of each element of the batch by its own mean and variance."""
    if not by_input:
        return batch_norm(graph, x, weight, bias, mean, variance, False, momentum, epsilon)
    channels = number(graph.shape_of(x)[1])
    if not isinstance(channels, int):
        raise UnsupportedError("a dynamic number of channels is not supported")
    return group_norm(graph, x, channels, weight, bias, epsilon)
