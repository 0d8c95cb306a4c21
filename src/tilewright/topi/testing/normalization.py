"""Softmax, normalisations and losses in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Array = np.ndarray


def softmax_python(a_np: Array, axis: int = -1) -> Array:
    """exp(x - max(x)) / sum(exp(x - max(x))) along `axis`."""
    powers = np.exp(a_np - a_np.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np: Array, axis: int = -1) -> Array:
    """The logarithm of the softmax along `axis`."""
    centred = a_np - a_np.max(axis=axis, keepdims=True)
    return centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))


def layer_norm_python(
    data: Array, gamma: Array, beta: Array | None, axis: int | Sequence[int],
    epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` along `axis`."""
    axes = _axes(data, axis)
    added = 0 if beta is None else _along(beta, axes, data)
    return _normalised(data, axes, epsilon) * _along(gamma, axes, data) + added


def instance_norm_python(
    data: Array, gamma: Array, beta: Array | None, channel_axis: int,
    axis: int | Sequence[int], epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """The same with a factor for each channel."""
    shape = [extent if n == channel_axis % data.ndim else 1 for n, extent in enumerate(data.shape)]
    added = 0 if beta is None else beta.reshape(shape)
    return _normalised(data, _axes(data, axis), epsilon) * gamma.reshape(shape) + added


def group_norm_python(
    data: Array, gamma: Array | None, beta: Array | None, num_groups: int, channel_axis: int,
    axes: int | Sequence[int], epsilon: float = 1e-5,
) -> Array:  # fmt: skip
    """The same of groups of channels."""
    channel = channel_axis % data.ndim
    others = _axes(data, axes)
    parts = np.split(data, num_groups, axis=channel)
    whole = np.concatenate([_normalised(p, (channel, *others), epsilon) for p in parts], channel)
    shape = [extent if n == channel else 1 for n, extent in enumerate(data.shape)]
    if gamma is not None:
        whole = whole * gamma.reshape(shape)
    return whole if beta is None else whole + beta.reshape(shape)


def rms_norm_python(
    data: Array, weight: Array, axis: int | Sequence[int], epsilon: float = 1e-5
) -> Array:
    """``x / sqrt(mean(x * x) + epsilon) * weight`` along `axis`."""
    axes = _axes(data, axis)
    mean = np.mean(data.astype("float32") ** 2, axis=axes, keepdims=True)
    return (data / np.sqrt(mean + epsilon) * _along(weight, axes, data)).astype(data.dtype)


def batch_norm(
    x: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array, axis: int = 1,
    epsilon: float = 1e-5, center: bool = True, scale: bool = True, training: bool = False,
    momentum: float = 0.1,
) -> list[Array]:  # fmt: skip
    """The normalisation of channels, and the new `moving_mean` and `moving_var`."""
    others = tuple(n for n in range(x.ndim) if n != axis % x.ndim)
    shape = [1 if n in others else extent for n, extent in enumerate(x.shape)]
    mean, variance = (x.mean(others), x.var(others)) if training else (moving_mean, moving_var)
    result = (x - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + epsilon)
    if scale:
        result = result * gamma.reshape(shape)
    if center:
        result = result + beta.reshape(shape)
    if training:
        moving_mean = (1 - momentum) * moving_mean + momentum * mean
        moving_var = (1 - momentum) * moving_var + momentum * variance
    return [result.astype(x.dtype), moving_mean.astype(x.dtype), moving_var.astype(x.dtype)]


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """``x / (bias + alpha * sum / size) ** beta``, the sum being that of squares of neighbours."""
    moved = np.moveaxis(a_np, axis, 0)
    total = np.zeros_like(moved)
    for n in range(len(moved)):
        near = moved[max(0, n - size // 2) : n + size // 2 + 1]
        total[n] = (near * near).sum(axis=0)
    return np.moveaxis(moved / (bias + alpha * total / size) ** beta, 0, axis)


def _along(parameter: Array, axes: tuple[int, ...], data: Array) -> Array:
    """`parameter`, whose dimensions are `axes` of `data`, reshaped to broadcast to `data`."""
    ordered = parameter.transpose(np.argsort(axes))
    shape = [extent if n in axes else 1 for n, extent in enumerate(data.shape)]
    return ordered.reshape(shape)


def _axes(data: Array, axis: int | Sequence[int]) -> tuple[int, ...]:
    items = (axis,) if isinstance(axis, int) else axis
    return tuple(item % data.ndim for item in items)


def _normalised(data: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    mean = data.mean(axis=axes, keepdims=True)
    return (data - mean) / np.sqrt(data.var(axis=axes, keepdims=True) + epsilon)


def nll_loss(
    predictions: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> np.ndarray:
    """The negative log likelihood of the right classes, weighted."""
    total_weight, losses = 0.0, np.zeros(targets.shape, predictions.dtype)
    for place in np.ndindex(*targets.shape):
        kind = targets[place]
        if kind == ignore_index:
            continue
        index = (kind,) if predictions.ndim == 1 else (place[0], kind, *place[1:])
        losses[place] = -predictions[index] * weights[kind]
        total_weight += float(weights[kind])
    if reduction == "none":
        return losses
    total = losses.sum(dtype=predictions.dtype)
    return total / predictions.dtype.type(total_weight) if reduction == "mean" else total
