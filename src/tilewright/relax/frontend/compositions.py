"""What operators of several frameworks are composed of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.frontend.emitter import Emitter
from tilewright.relax.struct_info import TensorStructInfo


def product(extents: Sequence[Any]) -> Any:
    """The number of elements of an array."""
    result: Any = 1
    for extent in extents:
        result = result * extent
    return result


def broadcast(graph: Emitter, x: Any, shape: Sequence[Any]) -> Any:
    """Dimensions of extent 1 repeated."""
    return x if graph.same_shape(x, shape) else graph.emit(op.broadcast_to(x, shape))


def tiled(graph: Emitter, x: Any, repeats: Sequence[Any]) -> Any:
    """The whole array repeated along each dimension; new dimensions may come first."""
    known = graph.shape_of(x)
    repeats = [1] * (len(known) - len(repeats)) + list(repeats)
    extents = [1] * (len(repeats) - len(known)) + known
    # Each dimension becomes two: the repetitions, and the elements.
    wide = [part for pair in zip(repeats, extents, strict=True) for part in pair]
    thin = graph.reshape(x, [part for extent in extents for part in (1, extent)])
    shape = [count * extent for count, extent in zip(repeats, extents, strict=True)]
    return graph.reshape(graph.emit(op.broadcast_to(thin, wide)), shape)


def repeat_interleaved(graph: Emitter, x: Any, repeats: Any, dim: int) -> Any:
    """Each element along `dim` `repeats` times, one after the other."""
    shape = graph.shape_of(x)
    thin = graph.reshape(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]])
    wide = graph.emit(op.broadcast_to(thin, [*shape[: dim + 1], repeats, *shape[dim + 1 :]]))
    return graph.reshape(wide, [*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]])


def sampled(
    graph: Emitter, x: Any, grid: Any, method: str, padding: str, align_corners: bool
) -> Any:
    """The pixels of images or volumes at the places of a grid, whose coordinates come last."""
    rank = graph.rank_of(x)
    places = graph.permute(grid, [0, rank - 1, *range(1, rank - 1)])
    layout = "NCHW" if rank == 4 else "NCDHW"
    return graph.emit_te(topi.image.grid_sample, x, places, method, layout, padding, align_corners)


def places_of_nonzero(graph: Emitter, x: Any) -> Any:
    """Where the elements are that are not 0: one row for each dimension, one column for each."""
    rank = graph.rank_of(x)
    flat = graph.reshape(x, [1]) if not rank else x
    found = graph.named(graph.emit(op.nonzero(flat)), 2, "int64")
    count = graph.shape_of(found)[1]
    wanted = graph.emit(op.strided_slice(found, [0], [0], [rank]))
    return graph.builder.match_cast(wanted, TensorStructInfo([rank, count], "int64"))


def different(graph: Emitter, x: Any, axis: int | None, is_sorted: bool = True) -> list[Any]:
    """The different elements, or parts along an axis, in order.

    Then where each is first, which of them each of `x` is, and how often each occurs.
    """
    found = graph.emit(op.unique(x, is_sorted, True, True, True, axis))
    rank = 1 if axis is None else graph.rank_of(x)
    values = graph.named(graph.emit(found[0]), rank, graph.dtype_of(x))
    return [values, *(graph.named(graph.emit(found[n]), 1, "int64") for n in (1, 2, 3))]
