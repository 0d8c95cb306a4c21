"""Products, convolutions, attention, normalisation, images and sampling of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.ir.expr import IntImm
from tilewright.relax import const, op
from tilewright.relax.expr import PrimValue
from tilewright.relax.frontend.nn.op.calls import renamed, tensor_operator
from tilewright.relax.frontend.nn.parameter import get_default_dtype

__all__ = [
    "conv1d", "conv1d_transpose", "conv2d", "conv3d", "get_timestep_embedding", "group_norm",
    "interpolate", "layer_norm", "log_softmax", "matmul", "multinomial_from_uniform",
    "renormalize_top_p_top_k_prob", "rms_norm", "sample_top_p_top_k_from_sorted_prob",
    "scaled_dot_product_attention", "softmax",
]  # fmt: skip

matmul = renamed(op.matmul, "matmul", "a", "b", "out_dtype")


def _with_bias(product: Any, bias: Any, layout: str) -> Any:
    """A convolution plus a number for each channel."""
    if bias is None:
        return product
    return op.add(product, op.reshape(bias, [-1 if axis == "C" else 1 for axis in layout]))


def _convolution(name: str, layout: str) -> Callable[..., Any]:
    function = getattr(op.nn, name)

    def convolution(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, data_layout: str = layout,
    ) -> Any:  # fmt: skip
        product = function(x, weight, stride, padding, dilation, groups, data_layout)
        return _with_bias(product, bias, data_layout)

    convolution.__name__ = name
    convolution.__doc__ = f"""`tilewright.relax.op.nn.{name}`, plus a number for each channel.

    Args:
        x: the images.
        weight: the filters.
        bias: ``(channels,)``, or None.
        stride: the steps of the filters.
        padding: how many zeros are around the images.
        dilation: the steps between elements of a filter.
        groups: of channels, which are convolved on their own.
        data_layout: the order of the dimensions.
    """
    return tensor_operator(convolution)


conv1d = _convolution("conv1d", "NCW")
conv2d = _convolution("conv2d", "NCHW")
conv3d = _convolution("conv3d", "NCDHW")


@tensor_operator
def conv1d_transpose(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The transposed convolution, plus a number for each channel.

    Args:
        x: ``(batch, channels, width)``.
        weight: ``(channels, channels of the result / groups, width)``.
        bias: ``(channels of the result,)``, or None.
        stride: the steps of the filters in the result.
        padding: how many elements are cut off at both ends.
        output_padding: how many are added at the end.
        dilation: the steps between elements of a filter.
        groups: of channels, which are convolved on their own.
    """
    product = op.nn.conv1d_transpose(x, weight, stride, padding, output_padding, dilation, groups)
    return _with_bias(product, bias, "NCW")


@tensor_operator
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """``softmax(query @ key.T * scale + attn_mask) @ value`` for each head.

    Args:
        query: ``(batch, queries, heads, size)``.
        key: ``(batch, keys, heads, size)``.
        value: ``(batch, keys, heads, result size)``.
        attn_mask: what is added to the products, ``(batch, heads, queries, keys)``.
        is_causal: whether query i attends to keys up to i only.
        scale: by default one by the square root of the size.
    """
    causal = "TopLeft" if is_causal else None
    return op.nn.attention(query, key, value, attn_mask, scale, causal)


@tensor_operator
def get_timestep_embedding(
    x: Any, embedding_dim: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1,
    scale: float = 1, max_period: int = 10000,
) -> Any:  # fmt: skip
    """Sines and cosines of each number times frequencies from 1 to 1 / `max_period`.

    Args:
        x: ``(steps,)``.
        embedding_dim: how many sines and cosines there are.
        flip_sin_to_cos: whether the cosines come first.
        downscale_freq_shift: the last frequency has the exponent ``-half / (half - shift)``.
        scale: a factor of the angles.
        max_period: see above.

    Returns:
        ``(steps, embedding_dim)``, of the default dtype.
    """
    half = embedding_dim // 2
    exponents = -math.log(max_period) * np.arange(half) / (half - downscale_freq_shift)
    frequencies = const((scale * np.exp(exponents)).astype("float32")[None])
    angles = op.multiply(op.expand_dims(op.astype(x, "float32"), 1), frequencies)
    parts = [op.sin(angles), op.cos(angles)]
    embedding = op.concat(parts[::-1] if flip_sin_to_cos else parts, -1)
    if embedding_dim % 2:
        embedding = op.nn.pad(embedding, [0, 0, 0, 1])
    return op.astype(embedding, get_default_dtype())


softmax = renamed(op.nn.softmax, "softmax", "x", "axis")
log_softmax = renamed(op.nn.log_softmax, "log_softmax", "x", "axis")
rms_norm = renamed(op.nn.rms_norm, "rms_norm", "x", "weight", "axes", "epsilon")


@tensor_operator
def layer_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        x: the tensor.
        normalized_shape: the extents of the last dimensions, which have one mean.
        weight: factors of that shape; by default 1.
        bias: what is added, of that shape; by default 0.
        eps: keeps the divisor from 0.
    """
    shape = normalized_shape if isinstance(normalized_shape, (list, tuple)) else [normalized_shape]
    dtype = x.struct_info.dtype
    gamma = op.ones(shape, dtype) if weight is None else weight
    beta = op.zeros(shape, dtype) if bias is None else bias
    axes = list(range(-len(shape), 0))
    return op.nn.layer_norm(
        x, gamma, beta, axes, eps, center=bias is not None, scale=weight is not None
    )


@tensor_operator
def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    channel_axis: int = 1, axes: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """Each group of channels minus its mean and by its deviation, times `weight` plus `bias`.

    Args:
        x: the tensor.
        num_groups: into how many groups the channels are divided.
        weight: ``(channels,)``, by default 1.
        bias: ``(channels,)``, by default 0.
        eps: keeps the divisor from 0.
        channel_axis: the dimension of the channels.
        axes: the dimensions over which a mean is taken, besides that of the channels; by default
            all from 2.
    """
    info = x.struct_info
    channels = [info.extents[channel_axis]]
    gamma = op.ones(channels, info.dtype) if weight is None else weight
    beta = op.zeros(channels, info.dtype) if bias is None else bias
    axes = list(range(2, info.ndim)) if axes is None else axes
    return op.nn.group_norm(
        x, gamma, beta, num_groups, channel_axis, axes, eps,
        center=bias is not None, scale=weight is not None,
    )  # fmt: skip


_METHODS: Final = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}


@tensor_operator
def interpolate(
    x: Any, size: int | Sequence[Any] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool | None = None, data_layout: str = "NCHW",
) -> Any:  # fmt: skip
    """Images of another size, as ``torch.nn.functional.interpolate`` computes them.

    Args:
        x: the images, with two dimensions besides batch and channels.
        size: the height and width, or one number for both.
        scale_factor: instead of `size`, factors of the height and width, or one for both.
        mode: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.
        align_corners: whether the middles of the pixels in the corners stay where they are.
        recompute_scale_factor: must be None or False.
        antialias: must be None or False.
        data_layout: the order of the dimensions.
    """
    if recompute_scale_factor or antialias:
        raise ArgumentError(
            "nn.op.interpolate: recompute_scale_factor and antialias are not supported"
        )
    require_one_of("nn.op.interpolate: mode", mode, _METHODS)
    if (size is None) == (scale_factor is None):
        raise ArgumentError("nn.op.interpolate: give either size or scale_factor")
    if scale_factor is not None:
        size = _scaled(x, scale_factor, data_layout)
    coordinates = "align_corners" if align_corners else "half_pixel"
    return op.image.resize2d(
        x, size, layout=data_layout, method=_METHODS[mode],
        coordinate_transformation_mode="asymmetric" if mode == "nearest" else coordinates,
        rounding_method="floor" if mode == "nearest" else "round", cubic_alpha=-0.75,
    )  # fmt: skip


def _scaled(x: Any, factors: Any, layout: str) -> list[Any]:
    """The height and width times factors, rounded down."""
    given = list(factors) if isinstance(factors, (list, tuple)) else [factors, factors]
    sizes = []
    for axis, factor in zip("HW", given, strict=True):
        extent = x.struct_info.extents[layout.index(axis)]
        if isinstance(extent, IntImm):
            sizes.append(int(extent.value * factor))
        elif factor == int(factor):
            sizes.append(extent * int(factor))
        else:
            raise ArgumentValueError(
                f"nn.op.interpolate: the extent {extent!r} is symbolic, so its factor has to be a "
                f"whole number, got {factor}; give size"
            )
    return sizes


multinomial_from_uniform = renamed(op.multinomial_from_uniform, "multinomial_from_uniform")


@tensor_operator
def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Any, sorted_index: Any, top_p: Any, top_k: Any, uniform_sample: Any,
    sample_indices: Any = None,
) -> Any:  # fmt: skip
    """Choose among the likeliest tokens.

    In each row the tokens are kept before which the probabilities add up to less than `top_p`, at
    most `top_k` of them and at least the first.

    Args:
        sorted_prob: ``(rows, tokens)``, the probabilities in descending order.
        sorted_index: ``(rows, tokens)``, the token of each of them.
        top_p: ``(rows, 1)``.
        top_k: ``(rows, 1)``, integers.
        uniform_sample: ``(samples, 1)``, numbers from 0 to 1.
        sample_indices: ``(samples, 1)``, the row of each sample; by default sample i has row i.

    Returns:
        ``(samples, 1)``, the token of each sample, of the dtype of `sorted_index`.
    """
    kept = _kept(sorted_prob, top_p, top_k)
    sums = op.cumsum(sorted_prob, 1)
    total = op.max(op.where(kept, sums, op.zeros_like(sums)), 1, True)
    last = op.subtract(op.sum(op.astype(kept, "int64"), 1, True), 1)
    tokens = sorted_index
    if sample_indices is not None:
        rows = op.reshape(sample_indices, [-1])
        sums, total, last, tokens = (op.take(x, rows, 0) for x in (sums, total, last, tokens))
    passed = op.less_equal(sums, op.multiply(uniform_sample, total))
    place = op.minimum(op.sum(op.astype(passed, "int64"), 1, True), last)
    return op.gather_elements(tokens, place, 1)


@tensor_operator
def renormalize_top_p_top_k_prob(prob: Any, sorted_prob: Any, top_p: Any, top_k: Any) -> Any:
    """The probabilities of the likeliest tokens, so that they add up to 1; 0 for the others.

    Args:
        prob: ``(rows, tokens)``.
        sorted_prob: the same in descending order.
        top_p: ``(rows, 1)``; see `sample_top_p_top_k_from_sorted_prob`.
        top_k: ``(rows, 1)``, integers.
    """
    kept = _kept(sorted_prob, top_p, top_k)
    least = op.min(op.where(kept, sorted_prob, op.ones_like(sorted_prob)), 1, True)
    likely = op.where(op.greater_equal(prob, least), prob, op.zeros_like(prob))
    return op.divide(likely, op.sum(likely, 1, True))


def _kept(sorted_prob: Any, top_p: Any, top_k: Any) -> Any:
    """Which tokens are among the likeliest of their row."""
    tokens = sorted_prob.struct_info.extents[1]
    places = op.arange(PrimValue(0), PrimValue(tokens), PrimValue(1), "int64")
    before = op.cumsum(sorted_prob, 1, exclusive=True)
    likely = op.logical_and(op.less(before, top_p), op.less(places, op.astype(top_k, "int64")))
    return op.logical_or(likely, op.equal(places, 0))
