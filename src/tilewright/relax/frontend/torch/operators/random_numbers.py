"""Random numbers, which are a function of the seed of the program; they are not those of torch."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.expr import RelaxExpr
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.slices import part
from tilewright.relax.frontend.torch.table import convert_by, converts


def _uniform(graph: Graph, shape: Any, dtype: str) -> Any:
    """Numbers from 0 on, below 1."""
    return graph.emit_te(topi.random_uniform, *graph.random_stream(shape), dtype)


def _normal(graph: Graph, shape: Any, dtype: str) -> Any:
    return graph.emit_te(topi.random_normal, *graph.random_stream(shape), dtype)


@converts("aten.rand", "aten.rand_like")
def rand(graph: Graph, *_: Any, **__: Any) -> Any:
    """Numbers from 0 on, below 1."""
    return _uniform(graph, graph.shape, graph.dtype)


@converts("aten.randn", "aten.randn_like")
def randn(graph: Graph, *_: Any, **__: Any) -> Any:
    """Numbers of the normal distribution."""
    return _normal(graph, graph.shape, graph.dtype)


@converts("aten.uniform")
def uniform(graph: Graph, x: Any, low: float = 0, high: float = 1, **_: Any) -> Any:
    """Numbers from `low` on, below `high`."""
    unit = _uniform(graph, graph.shape, graph.dtype)
    return op.add(op.multiply(unit, float(high) - float(low)), float(low))


@converts("aten.normal_functional")
def normal_like(graph: Graph, x: Any, mean: float = 0, deviation: float = 1, **_: Any) -> Any:
    """Numbers of a normal distribution in the shape of `x`."""
    return normal(graph, mean, deviation)


@converts("aten.normal")
def normal(graph: Graph, mean: Any, deviation: Any = 1, *_: Any, **__: Any) -> Any:
    """Numbers of normal distributions, whose means and deviations may be tensors."""
    scaled = op.multiply(
        _normal(graph, graph.shape, graph.dtype), graph.operand(deviation, graph.dtype)
    )
    return op.add(graph.emit(scaled), graph.operand(mean, graph.dtype))


@converts("aten.exponential")
def exponential(graph: Graph, x: Any, rate: float = 1, **_: Any) -> Any:
    """Numbers of an exponential distribution."""
    return op.divide(_exponential(graph, graph.shape, graph.dtype), float(rate))


def _exponential(graph: Graph, shape: Any, dtype: str) -> Any:
    unit = _uniform(graph, shape, dtype)
    return graph.emit(op.negative(op.log(op.subtract(1.0, unit))))


def _integers(graph: Graph, low: Any, high: Any) -> Any:
    if not isinstance(low, int) or not isinstance(high, int) or not 0 < high - low <= 2**32:
        raise UnsupportedError("bounds of random integers are constants, at most 2**32 apart")
    seed, shape, stream = graph.random_stream(graph.shape)
    whole = graph.emit_te(topi.random_integers, seed, shape, stream, low, high, "int64")
    return graph.cast(whole, graph.dtype)


convert_by({
    "aten.randint.default": lambda graph, high, *_, **__: _integers(graph, 0, high),
    "aten.randint.low": lambda graph, low, high, *_, **__: _integers(graph, low, high),
    "aten.randint_like.default": lambda graph, x, high, *_, **__: _integers(graph, 0, high),
    "aten.randint_like.low_dtype":
        lambda graph, x, low, high, *_, **__: _integers(graph, low, high),
})  # fmt: skip


@converts("aten.randperm.default")
def randperm(graph: Graph, count: Any, **_: Any) -> Any:
    """The numbers below `count` in random order."""
    keys = _uniform(graph, graph.shape, "float64")
    return graph.cast(graph.emit(op.argsort(keys, 0, False, "int64")), graph.dtype)


@converts("aten.bernoulli.default", "aten.bernoulli.out")
def bernoulli(graph: Graph, probability: Any, **_: Any) -> Any:
    """1 with the probability of each element, otherwise 0."""
    return _bernoulli(graph, probability)


@converts("aten.bernoulli.p")
def bernoulli_of(graph: Graph, x: Any, probability: float, **_: Any) -> Any:
    """1 with one probability, otherwise 0."""
    return _bernoulli(graph, float(probability))


def _bernoulli(graph: Graph, probability: Any) -> Any:
    # Half precision has too few numbers between 0 and 1.
    wide = graph.full_dtype
    unit = _uniform(graph, graph.shape, wide)
    if isinstance(probability, RelaxExpr):
        probability = graph.cast(probability, wide)
    return graph.cast(graph.emit(op.less(unit, probability)), graph.dtype)


@converts("aten.dropout", "aten.native_dropout")
def dropout(graph: Graph, x: Any, probability: float, train: bool | None) -> Any:
    """Elements that are 0 with a probability; the others grow, so that the mean stays."""
    is_pair = "native" in str(graph.node.target)
    shape = graph.shape_of(x)
    if train is False or probability == 0:
        return [x, graph.emit(op.ones(shape, "bool"))] if is_pair else x
    if graph.seed is None:
        raise UnsupportedError(
            "dropout drops nothing here; call model.eval() before the export, or give "
            "from_exported_program random_seed=0"
        )
    unit = _uniform(graph, shape, "float32")
    kept = graph.emit(op.greater_equal(unit, float(probability)))
    scale = 0.0 if probability == 1 else 1 / (1 - probability)
    result = graph.emit(op.where(kept, op.multiply(x, scale), 0.0))
    return [result, kept] if is_pair else result


@converts("aten.multinomial")
def multinomial(graph: Graph, weights: Any, count: int, replacement: bool = False, **_: Any) -> Any:
    """Places that are drawn with probabilities in proportion to weights, along the last dimension.

    Without replacement these are the places of the largest quotients of a weight and a number of
    the exponential distribution (Efraimidis and Spirakis, "Weighted random sampling with a
    reservoir", 2006); one place with replacement is the first of them.
    """
    extents = graph.shape_of(weights)
    if replacement and count != 1:
        weights = graph.emit(op.expand_dims(weights, -2))
        extents = [*extents[:-1], count, extents[-1]]
    dtype = graph.dtype_of(weights)
    quotients = graph.emit(op.divide(weights, _exponential(graph, extents, dtype)))
    chosen = 1 if replacement else count
    places = graph.emit(op.topk(quotients, chosen, -1, "indices", True, "int64"))
    return graph.reshape(part(graph, places, -1, 0, chosen), graph.shape)
