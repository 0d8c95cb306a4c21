"""What operators of several frameworks are composed of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Var as Size
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


def places_of_nonzero(graph: Emitter, x: Any, rows: bool = False) -> Any:
    """Where the elements are that are not 0: one row for each dimension, one column for each.

    Or one row for each element, with `rows`.
    """
    rank, count = graph.rank_of(x), Size(graph.name_hint or "count", INT64)
    extents = [count, rank] if rows else [rank, count]
    found = graph.emit(op.nonzero(x, rows))
    return graph.builder.match_cast(found, TensorStructInfo(extents, "int64"))


def different(
    graph: Emitter,
    x: Any,
    axis: int | None,
    is_sorted: bool = True,
    wanted: Sequence[bool] = (True, True, True),
    equal_nan: bool = True,
) -> list[Any]:
    """The different elements, or parts along an axis, in order.

    Then, as far as `wanted`, where each is first, which of them each of `x` is, and how often each
    occurs; None for the others. `equal_nan` says whether all NaNs are one element.
    """
    first, inverse, counts = wanted
    found = graph.emit(op.unique(x, is_sorted, first, inverse, counts, axis, equal_nan))
    parts = iter([graph.emit(found[n]) for n in range(1 + sum(wanted))] if any(wanted) else [found])
    rank = 1 if axis is None else graph.rank_of(x)
    values = graph.named(next(parts), rank, graph.dtype_of(x))
    return [values, *(graph.named(next(parts), 1, "int64") if flag else None for flag in wanted)]
