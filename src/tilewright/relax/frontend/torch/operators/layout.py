"""Other shapes and orders of the same elements, and joining arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.relax import op
from tilewright.relax.frontend.compositions import (
    broadcast,
    product,
    repeat_interleaved,
    tiled,
)
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts


@converts(
    "aten.view.default", "aten.reshape", "aten._unsafe_view", "aten.view_as", "aten.flatten",
    "aten.unflatten", "aten.reshape_as", "aten.unsqueeze", "aten.squeeze", "aten.ravel",
)  # fmt: skip
def reshape(graph: Graph, x: Any, *_: Any) -> Any:
    """The elements in the same order, in the shape of the result."""
    return graph.reshape(x, graph.shape)


@converts("aten.transpose", "aten.swapaxes", "aten.swapdims")
def transpose(graph: Graph, x: Any, first: int, second: int) -> Any:
    """Two dimensions exchanged."""
    order = list(range(graph.rank_of(x)))
    if order:
        order[first], order[second] = order[second], order[first]
    return graph.permute(x, order)


@converts("aten.movedim.intlist")
def movedim(graph: Graph, x: Any, source: Sequence[int], destination: Sequence[int]) -> Any:
    """Dimensions moved to other places; the others keep their order."""
    rank = graph.rank_of(x)
    places = {to % rank: dim % rank for dim, to in zip(source, destination, strict=True)}
    others = iter(dim for dim in range(rank) if dim not in places.values())
    return graph.permute(x, [places[d] if d in places else next(others) for d in range(rank)])


@converts("aten.cat", "aten.concat", "aten.concatenate")
def cat(graph: Graph, tensors: Sequence[Any], dim: int = 0) -> Any:
    """Arrays one after the other along `dim`."""
    rank = len(graph.shape)
    # torch still accepts empty one-dimensional arrays among arrays of any rank.
    parts = [graph.cast(x, graph.dtype) for x in tensors if graph.rank_of(x) == rank]
    return parts[0] if len(parts) == 1 else graph.emit(op.concat(parts, dim))


@converts("aten.stack")
def stack(graph: Graph, tensors: Sequence[Any], dim: int = 0) -> Any:
    """Arrays one after the other along a new dimension."""
    parts = [op.expand_dims(graph.cast(x, graph.dtype), dim) for x in tensors]
    return graph.emit(op.concat([graph.emit(part) for part in parts], dim))


@converts("aten.flip")
def flip(graph: Graph, x: Any, dims: Sequence[int]) -> Any:
    """Elements in reverse order along each of `dims`."""
    for dim in dims:
        x = graph.emit(op.flip(x, dim))
    return x


@converts("aten.repeat", "aten.tile")
def repeat(graph: Graph, x: Any, repeats: Sequence[Any]) -> Any:
    """The whole array repeated along each dimension; new dimensions may come first."""
    return tiled(graph, x, repeats)


@converts("aten.repeat_interleave.self_int")
def repeat_interleave(
    graph: Graph, x: Any, repeats: Any, dim: int | None = None, *, output_size: Any = None
) -> Any:
    """Each element `repeats` times."""
    if dim is None:
        x, dim = graph.reshape(x, [product(graph.shape_of(x))]), 0
    return repeat_interleaved(graph, x, repeats, dim % graph.rank_of(x))


@converts("aten.pixel_shuffle")
def pixel_shuffle(graph: Graph, x: Any, factor: int) -> Any:
    """Blocks of channels become blocks of pixels."""
    *outer, channels, height, width = graph.shape_of(x)
    n = len(outer)
    split = [*outer, channels // (factor * factor), factor, factor, height, width]
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return graph.reshape(graph.permute(graph.reshape(x, split), order), graph.shape)


@converts("aten.pixel_unshuffle")
def pixel_unshuffle(graph: Graph, x: Any, factor: int) -> Any:
    """Blocks of pixels become blocks of channels."""
    *outer, channels, height, width = graph.shape_of(x)
    n = len(outer)
    split = [*outer, channels, height // factor, factor, width // factor, factor]
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return graph.reshape(graph.permute(graph.reshape(x, split), order), graph.shape)


@converts("aten.channel_shuffle")
def channel_shuffle(graph: Graph, x: Any, groups: int) -> Any:
    """Channels of all groups in turn."""
    batch, channels, *rest = graph.shape_of(x)
    split = graph.reshape(x, [batch, groups, channels // groups, *rest])
    order = [0, 2, 1, *range(3, len(rest) + 3)]
    return graph.reshape(graph.permute(split, order), graph.shape)


@converts("aten.meshgrid")
def meshgrid(graph: Graph, tensors: Sequence[Any], *, indexing: str = "ij") -> list[Any]:
    """Coordinates of all points of a grid."""
    results = []
    for position, (x, fake) in enumerate(zip(tensors, graph.result, strict=True)):
        axis = 1 - position if indexing == "xy" and position < 2 else position
        shape: list[Any] = [1] * len(tensors)
        shape[axis] = graph.shape_of(graph.reshape(x, [-1]) if not graph.rank_of(x) else x)[0]
        thin = graph.reshape(x, shape)
        results.append(graph.emit(op.broadcast_to(thin, graph.sizes.shape(fake.shape))))
    return results


convert_by({
    "aten.permute": lambda graph, x, dims: graph.permute(x, dims),
    "aten.t aten.mT aten.adjoint":
        lambda graph, x: transpose(graph, x, -1, -2) if graph.rank_of(x) > 1 else x,
    "aten.numpy_T": lambda graph, x: graph.permute(x, list(reversed(range(graph.rank_of(x))))),
    "aten.movedim.int":
        lambda graph, x, source, destination: movedim(graph, x, [source], [destination]),
    "aten.expand aten.expand_as aten.broadcast_to":
        lambda graph, x, *_, **__: broadcast(graph, x, graph.shape),
})  # fmt: skip
