"""Sums, extrema and statistics along dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.binary import combine
from tilewright.relax.frontend.torch.single_precision import in_single
from tilewright.relax.frontend.torch.table import convert_by, converts

Dims: TypeAlias = "int | Sequence[int] | None"


def _axes(dim: Dims) -> list[int] | None:
    """The dimensions that are reduced; None for all."""
    if isinstance(dim, int):
        return [dim]
    return list(dim) if dim else None


def _reduction(function: Any) -> Any:
    def convert(
        graph: Graph, x: Any, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Any:
        return graph.emit(function(graph.cast(x, graph.dtype), _axes(dim), keepdim))

    return convert


_FUNCTIONS: Final = {
    "sum": op.sum, "mean": op.mean, "prod": op.prod, "amax": op.max, "amin": op.min,
    "max.default": op.max, "min.default": op.min,
}  # fmt: skip
convert_by({f"aten.{name}": _reduction(function) for name, function in _FUNCTIONS.items()})


def _truth(function: Any) -> Any:
    def convert(graph: Graph, x: Any, dim: Dims = None, keepdim: bool = False) -> Any:
        numbers = graph.cast(graph.cast(x, "bool"), "int8")
        return graph.cast(graph.emit(function(numbers, _axes(dim), keepdim)), graph.dtype)

    return convert


convert_by({"aten.any": _truth(op.max), "aten.all": _truth(op.min)})


@converts("aten.var.correction")
@in_single
def variance(
    graph: Graph, x: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    """The variance, with the count of elements less `correction`."""
    correction = 1 if correction is None else correction
    axes = _axes(dim)
    spread = graph.emit(op.variance(x, axes, keepdim))
    if correction == 0:
        return spread
    extents = graph.shape_of(x)
    count: Any = 1
    for axis in range(len(extents)) if axes is None else axes:
        count = count * extents[axis]
    dtype = graph.dtype_of(x)
    total = combine(graph, op.multiply, spread, count, dtype)
    return combine(graph, op.divide, total, count - correction, dtype)


@converts("aten.std.correction")
@in_single
def std(
    graph: Graph, x: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    """The root of the variance."""
    return graph.emit(op.sqrt(variance(graph, x, dim, correction=correction, keepdim=keepdim)))


def _with_flag(function: Any) -> Any:
    """The overload that has a flag `unbiased` in place of the correction."""

    def convert(
        graph: Graph, x: Any, dim: Dims, unbiased: bool = True, keepdim: bool = False
    ) -> Any:
        return function(graph, x, dim, correction=int(unbiased), keepdim=keepdim)

    return convert


@converts("aten.var_mean.correction")
def var_mean(
    graph: Graph, x: Any, dim: Dims = None, *, correction: Any = None, keepdim: bool = False
) -> list[Any]:
    """The variance and the mean."""
    spread = variance(graph, x, dim, correction=correction, keepdim=keepdim)
    return [spread, graph.emit(op.mean(x, _axes(dim), keepdim))]


@converts("aten.linalg_vector_norm")
def vector_norm(
    graph: Graph, x: Any, order: float = 2, dim: Dims = None, keepdim: bool = False, *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The norm of vectors along dimensions, of half precision in single precision."""
    norm = _norm(graph, graph.cast(x, graph.full_dtype), order, _axes(dim), keepdim)
    return graph.cast(graph.emit(norm), graph.dtype)


def _norm(graph: Graph, x: Any, order: float, axes: Any, keepdim: bool) -> Any:
    if order == 2:
        return op.sqrt(op.sum(op.multiply(x, x), axes, keepdim))
    if order == 1:
        return op.sum(op.abs(x), axes, keepdim)
    if math.isinf(order):
        return (op.max if order > 0 else op.min)(op.abs(x), axes, keepdim)
    if order == 0:
        return op.sum(op.astype(op.not_equal(x, 0), graph.dtype_of(x)), axes, keepdim)
    total = op.sum(op.power(op.abs(x), order), axes, keepdim)
    return op.power(total, 1 / order)


@converts("aten.logsumexp")
def logsumexp(graph: Graph, x: Any, dim: Dims, keepdim: bool = False) -> Any:
    """The logarithm of the sum of exponentials, which may be larger than numbers can be."""
    axes = _axes(dim)
    largest = graph.emit(op.max(x, axes, True))
    finite = op.where(op.isinf(largest), 0, largest)
    shift = graph.emit(finite)
    total = op.log(op.sum(op.exp(op.subtract(x, shift)), axes, True))
    return graph.reshape(graph.emit(op.add(total, shift)), graph.shape)


convert_by({
    "aten.var.dim": _with_flag(variance),
    "aten.std.dim": _with_flag(std),
    "aten.var.default":
        lambda graph, x, unbiased=True: variance(graph, x, correction=int(unbiased)),
    "aten.std.default": lambda graph, x, unbiased=True: std(graph, x, correction=int(unbiased)),
    "aten.cumsum": lambda graph, x, dim, *, dtype=None: op.cumsum(x, dim, graph.dtype),
    "aten.cumprod": lambda graph, x, dim, *, dtype=None: op.cumprod(x, dim, graph.dtype),
})  # fmt: skip
