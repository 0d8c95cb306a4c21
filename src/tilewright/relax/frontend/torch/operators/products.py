"""Products of matrices, convolutions and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.compositions import broadcast, product, repeat_interleaved
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.binary import combine
from tilewright.relax.frontend.torch.operators.reduction import vector_norm
from tilewright.relax.frontend.torch.single_precision import dtype_of_sums
from tilewright.relax.frontend.torch.table import convert_by, converts


@converts("aten.linear")
def linear(graph: Graph, x: Any, weight: Any, bias: Any = None) -> Any:
    """``x @ weight.T + bias``."""
    if bias is None:
        return graph.emit(op.linear(x, weight))
    wide = dtype_of_sums(graph, x)
    bias = graph.cast(bias, wide or graph.dtype)
    return graph.cast(graph.emit(op.linear(x, weight, bias, wide)), graph.dtype)


@converts("aten.addmm", "aten.baddbmm", "aten.addmv")
def addmm(graph: Graph, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta bias + alpha x y``."""
    wide = dtype_of_sums(graph, x)
    dtype = wide or graph.dtype
    product = graph.emit(op.matmul(x, y, wide))
    if alpha != 1:
        product = combine(graph, op.multiply, product, alpha, dtype)
    if beta == 0:
        return graph.cast(product, graph.dtype)
    bias = graph.cast(bias, dtype)
    if beta != 1:
        bias = combine(graph, op.multiply, bias, beta, dtype)
    return graph.cast(graph.emit(op.add(product, bias)), graph.dtype)


@converts("aten.addbmm")
def addbmm(graph: Graph, bias: Any, x: Any, y: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta bias + alpha`` times the sum of all products of a stack."""
    total = graph.emit(op.sum(op.matmul(x, y), 0))
    if beta == 0:
        return combine(graph, op.multiply, total, alpha, graph.dtype)
    bias, total = (
        combine(graph, op.multiply, value, factor, graph.dtype) if factor != 1 else value
        for value, factor in ((bias, beta), (total, alpha))
    )
    return graph.emit(op.add(total, bias))


@converts("aten.bilinear")
def bilinear(graph: Graph, x: Any, y: Any, weight: Any, bias: Any = None) -> Any:
    """``x weight y`` of vectors, for each matrix of `weight`, plus a bias."""
    outputs, first, second = graph.shape_of(weight)
    rows = graph.reshape(x, [-1, first])
    matrix = graph.reshape(weight, [outputs * first, second])
    # A row of the product of y and the matrices, for each output and each element of x.
    products = graph.emit(op.linear(graph.reshape(y, [-1, second]), matrix))
    products = graph.reshape(products, [-1, outputs, first])
    value = graph.emit(op.sum(op.multiply(products, op.expand_dims(rows, 1)), -1))
    value = value if bias is None else graph.emit(op.add(value, bias))
    return graph.reshape(value, graph.shape)


@converts("aten.cdist", "aten._cdist_forward")
def cdist(graph: Graph, x: Any, y: Any, order: float = 2, *_: Any) -> Any:
    """The distances of all pairs of vectors, of half precision in single precision."""
    x, y = (graph.cast(operand, graph.full_dtype) for operand in (x, y))
    difference = graph.emit(op.subtract(op.expand_dims(x, -2), op.expand_dims(y, -3)))
    return vector_norm(graph, difference, order, -1)


_SWAP_HEADS = (0, 2, 1, 3)


@converts("aten.scaled_dot_product_attention")
def attention(
    graph: Graph, query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """``softmax(scale query key^T + mask) value`` for each head.

    The operator here has the heads after the sequence, as models have them before they split
    them off, so that usually two transpositions meet and vanish.
    """
    if dropout:
        raise UnsupportedError("dropout drops nothing here; call model.eval() before the export")
    shape = graph.shape
    if enable_gqa:
        key, value = _shared(graph, query, key), _shared(graph, query, value)
    query, key, value = (_stacked(graph, x, shape[:-2]) for x in (query, key, value))
    bias = None if mask is None else _bias(graph, mask, query, shape[:-2])
    query, key, value = (_four(graph, x) for x in (query, key, value))
    query, key, value = (graph.permute(x, _SWAP_HEADS) for x in (query, key, value))
    causal = "TopLeft" if is_causal else None
    result = op.nn.attention(query, key, value, bias, scale, causal)
    return graph.reshape(graph.permute(graph.emit(result), _SWAP_HEADS), shape)


def _four(graph: Graph, x: Any) -> Any:
    """`x` with dimensions (batch, head, sequence, feature)."""
    *outer, sequence, features = graph.shape_of(x)
    if len(outer) == 2:
        return x
    heads = outer[-1] if outer else 1
    return graph.reshape(x, [product(outer[:-1]), heads, sequence, features])


def _stacked(graph: Graph, x: Any, outer: Sequence[Any]) -> Any:
    """`x` repeated along the outer dimensions of the result."""
    return broadcast(graph, x, [*outer, *graph.shape_of(x)[-2:]])


def _shared(graph: Graph, query: Any, x: Any) -> Any:
    """Keys or values once for each head of the query, where several share one."""
    heads, groups = (graph.shape_of(y)[-3].value for y in (query, x))
    axis = graph.rank_of(x) - 3
    return repeat_interleaved(graph, x, heads // groups, axis) if heads != groups else x


def _bias(graph: Graph, mask: Any, query: Any, outer: Sequence[Any]) -> Any:
    """What is added to the products: a mask of truths says what may be seen."""
    dtype = graph.dtype_of(query)
    if graph.dtype_of(mask) == "bool":
        nothing = float("-inf")
        mask = graph.emit(op.where(mask, 0, nothing))
    if graph.rank_of(mask) > 4:  # several dimensions become the batch, each with all its elements
        mask = broadcast(graph, mask, [*outer, *graph.shape_of(mask)[-2:]])
    *own, rows, columns = graph.shape_of(mask)
    own = [product(own[:-1]), own[-1]] if len(own) > 2 else [1] * (2 - len(own)) + own
    return graph.reshape(graph.cast(mask, dtype), [*own, rows, columns])


_FORWARD: Final = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED: Final = {
    1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose,
}  # fmt: skip


def each(values: Any, rank: int) -> list[Any]:
    """A setting of each dimension, where one may stand for all."""
    listed = list(values) if isinstance(values, Sequence) else [values]
    return listed * rank if len(listed) == 1 else listed


def with_batch(graph: Graph, x: Any, rank: int) -> Any:
    """`x` with a batch dimension, which torch lets callers leave out."""
    return x if graph.rank_of(x) == rank + 2 else graph.reshape(x, [1, *graph.shape_of(x)])


def _with_bias(graph: Graph, value: Any, bias: Any, rank: int) -> Any:
    """`value` plus a bias for each channel, in the shape and the dtype of the result."""
    if bias is not None:
        thin = graph.reshape(bias, [1, graph.shape_of(bias)[0], *[1] * rank])
        value = graph.emit(op.add(value, graph.cast(thin, graph.dtype_of(value))))
    return graph.reshape(graph.cast(value, graph.dtype), graph.shape)


@converts("aten.conv1d", "aten.conv2d", "aten.conv3d")
def convolve(
    graph: Graph, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution; `padding` may be ``"same"`` or ``"valid"``."""
    rank = graph.rank_of(weight) - 2
    dilation = each(dilation, rank)
    settings = {"strides": each(stride, rank), "dilation": dilation, "groups": groups}
    if bias is not None:
        settings["out_dtype"] = dtype_of_sums(graph, x)
    pads = _padding(graph, padding, weight, dilation)
    value = _FORWARD[rank](with_batch(graph, x, rank), weight, padding=pads, **settings)
    return _with_bias(graph, graph.emit(value), bias, rank)


def _padding(graph: Graph, padding: Any, weight: Any, dilation: Sequence[int]) -> list[Any]:
    """The padding before and after each dimension: all before, then all after."""
    rank = len(dilation)
    if padding == "valid":
        return [0] * (2 * rank)
    if padding == "same":
        kernel = [int(extent.value) for extent in graph.shape_of(weight)[2:]]
        total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        before = [amount // 2 for amount in total]
        return [*before, *(t - b for t, b in zip(total, before, strict=True))]
    return each(padding, rank) * 2


@converts("aten.conv_transpose1d", "aten.conv_transpose2d", "aten.conv_transpose3d")
def convolve_transposed(
    graph: Graph, x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of a convolution."""
    rank = graph.rank_of(weight) - 2
    value = _TRANSPOSED[rank](
        with_batch(graph, x, rank),
        weight,
        strides=each(stride, rank),
        padding=each(padding, rank) * 2,
        output_padding=each(output_padding, rank),
        dilation=each(dilation, rank),
        groups=groups,
    )
    return _with_bias(graph, graph.emit(value), bias, rank)


@converts("aten.convolution")
def convolution(
    graph: Graph, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """A convolution or its transpose."""
    if transposed:
        return convolve_transposed(
            graph, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return convolve(graph, x, weight, bias, stride, padding, dilation, groups)


convert_by({
    "aten.mm aten.bmm aten.matmul aten.mv aten.dot": lambda graph, x, y: op.matmul(x, y),
    "aten.outer aten.ger": lambda graph, x, y: op.multiply(op.expand_dims(x, 1), y),
    "aten.einsum":
        lambda graph, equation, operands, **_: op.einsum(operands, equation.replace(" ", "")),
})  # fmt: skip
