"""Elements at indices that are computed, and arrays with such elements replaced."""

from __future__ import annotations

from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.compositions import different, places_of_nonzero, product
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.table import UnsupportedError

REDUCTIONS: Final = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def from_front(graph: Graph, index: Any, extent: Any) -> Any:
    """Indices counted from the front, where negative ones count from the end."""
    dtype = graph.dtype_of(index)
    known = graph.elements(index)
    if known is not None and known.is_constant and (known.values >= 0).all():
        return index
    shifted = op.add(index, graph.operand(extent, dtype))
    return graph.emit(op.where(op.less(index, graph.operand(0, dtype)), shifted, index))


@converts("Gather")
def gather(graph: Graph, x: Any, indices: Any, *, axis: int = 0) -> Any:
    """The parts of an array at indices along an axis."""
    axis = graph.axis(axis, graph.rank_of(x))
    return op.take(x, from_front(graph, indices, graph.shape_of(x)[axis]), axis)


@converts("GatherElements")
def gather_elements(graph: Graph, x: Any, indices: Any, *, axis: int = 0) -> Any:
    """The elements at indices along an axis, one for each place."""
    axis = graph.axis(axis, graph.rank_of(x))
    return op.gather_elements(x, from_front(graph, indices, graph.shape_of(x)[axis]), axis)


@converts("GatherND")
def gather_nd(graph: Graph, x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    """The parts of an array at places with several coordinates."""
    places = _coordinates(graph, indices, graph.shape_of(x)[batch_dims:])
    return op.gather_nd(x, places, batch_dims)


def _coordinates(graph: Graph, indices: Any, extents: list[Any]) -> Any:
    """Places with several coordinates counted from the front."""
    known = graph.elements(indices)
    if known is not None and known.is_constant and (known.values >= 0).all():
        return indices
    count = number(graph.shape_of(indices)[-1])
    if not isinstance(count, int):
        raise UnsupportedError("the number of coordinates must be known")
    limits = graph.cast(graph.numbers(extents[:count]), graph.dtype_of(indices))
    negative = op.less(indices, graph.operand(0, graph.dtype_of(indices)))
    return graph.emit(op.where(negative, op.add(indices, limits), indices))


@converts("ScatterElements", "Scatter")
def scatter_elements(
    graph: Graph, x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none"
) -> Any:
    """`x` with elements at indices along an axis replaced, or combined with others."""
    return op.scatter_elements(x, indices, updates, axis, _reduction(reduction))


@converts("ScatterND")
def scatter_nd(graph: Graph, x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    """`x` with parts at places with several coordinates replaced, or combined with others."""
    return op.scatter_nd(x, indices, updates, _reduction(reduction))


def _reduction(name: str) -> str:
    if name not in REDUCTIONS:
        raise UnsupportedError(f"the reduction {name!r} is not supported")
    return REDUCTIONS[name]


@converts("TensorScatter")
def tensor_scatter(
    graph: Graph, cache: Any, update: Any, places: Any = None, *, axis: int = -2,
    mode: str = "linear",
) -> Any:  # fmt: skip
    """A cache with the elements of `update` from a place on, which each of a batch has."""
    rank = graph.rank_of(cache)
    axis = graph.axis(axis, rank)
    extent, length = graph.shape_of(cache)[axis], graph.shape_of(update)[axis]
    zero = graph.operand(0, "int64")
    steps = graph.emit(op.expand_dims(graph.emit(op.arange(0, extent, 1, "int64")), 0))
    if places is not None:
        steps = graph.emit(op.subtract(steps, op.expand_dims(places, 1)))
        if mode == "circular":
            steps = graph.emit(op.floor_mod(steps, graph.operand(extent, "int64")))
    thin: list[Any] = [1] * rank
    thin[0], thin[axis] = graph.shape_of(steps)[0], extent
    steps = graph.reshape(steps, thin)
    inside = op.logical_and(
        op.greater_equal(steps, zero), op.less(steps, graph.operand(length, "int64"))
    )
    within = op.minimum(op.maximum(steps, zero), graph.operand(length - 1, "int64"))
    shape = graph.shape_of(update)
    shape[axis] = extent
    within = graph.emit(op.broadcast_to(graph.emit(within), shape))
    return op.where(inside, op.gather_elements(update, within, axis), cache)


@converts("OneHot")
def one_hot(graph: Graph, indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    """One value at the index, another elsewhere, along a new axis."""
    (count,) = graph.integers(depth)
    rank = graph.rank_of(indices) + 1
    places = graph.cast(
        graph.emit(op.trunc(indices)) if graph.is_float(indices) else indices, "int64"
    )
    places = from_front(graph, places, count)
    classes = graph.emit(op.arange(0, count, 1, dtype="int64"))
    thin = [1] * rank
    thin[axis] = number(count)
    truths = op.equal(op.expand_dims(places, axis), graph.reshape(classes, thin))
    off, on = (graph.reshape(graph.emit(op.take(values, graph.constant([n], "int64"), 0)), [])
               for n in (0, 1))  # fmt: skip
    return op.where(truths, on, off)


# --- sizes that depend on elements ------------------------------------------------------------


@converts("NonZero")
def nonzero(graph: Graph, x: Any) -> Any:
    """Where the elements are that are not 0: one row for each dimension."""
    return places_of_nonzero(graph, x)


@converts("Compress")
def compress(graph: Graph, x: Any, condition: Any, *, axis: int | None = None) -> Any:
    """The parts of an array along an axis for which a condition holds."""
    if axis is None:
        x, axis = graph.reshape(x, [-1]) if graph.rank_of(x) != 1 else x, 0
    found = places_of_nonzero(graph, condition)
    count = graph.shape_of(found)[1]
    return op.take(x, graph.reshape(found, [count]), axis)


@converts("Unique")
def unique(graph: Graph, x: Any, *, axis: int | None = None, sorted: int = 1) -> list[Any]:
    """The different elements, or parts along an axis; where they are, and how often."""
    return different(graph, x, axis, bool(sorted))


@converts("ai.onnx.ml.ArrayFeatureExtractor")
def array_feature_extractor(graph: Graph, x: Any, places: Any) -> Any:
    """The elements at some places of the last dimension; a vector is one row."""
    rows = graph.reshape(x, [1, *graph.shape_of(x)]) if graph.rank_of(x) == 1 else x
    flat = graph.reshape(places, [product(graph.shape_of(places))])
    return graph.emit(op.take(rows, flat, graph.rank_of(rows) - 1))
