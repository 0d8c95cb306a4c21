"""Parts of arrays, arrays with a part replaced, and arrays with a border."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.ir.arithmetic import maximum
from tilewright.ir.expr import Expr
from tilewright.relax import const, op
from tilewright.relax.frontend.compositions import product
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts


def part(graph: Graph, x: Any, dim: int, start: Any, length: Any, step: Any = 1) -> Any:
    """`length` elements along `dim`, from `start` in steps."""
    dim %= graph.rank_of(x)
    shape = graph.shape_of(x)
    shape[dim] = length
    if isinstance(start, int) and start == 0 and graph.same_shape(x, shape):
        return x
    return graph.emit(op.strided_slice(x, [dim], [start], [start + length * step], [step]))


def start_of(extent: Any, start: Any) -> Any:
    """Where a slice begins, counted from the front.

    Raises:
        UnsupportedError: if that depends on how a symbolic start compares to a symbolic extent.
    """
    start = 0 if start is None else number(start)
    extent = number(extent)
    if isinstance(start, int) and isinstance(extent, int):
        return min(max(start + extent if start < 0 else start, 0), extent)
    if isinstance(start, int) and start < 0:
        return extent + start
    return start


@converts("aten.slice")
def slice_along(
    graph: Graph, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    """``x[start:end:step]`` along `dim`; torch knows how many elements that are."""
    dim %= graph.rank_of(x)
    first = start_of(graph.shape_of(x)[dim], start)
    return part(graph, x, dim, first, number(graph.sizes.shape(graph.result.shape)[dim]), step)


@converts("aten.narrow")
def narrow(graph: Graph, x: Any, dim: int, start: Any, length: Any) -> Any:
    """`length` elements along `dim` from `start` on."""
    if not isinstance(start, (int, Expr)):
        raise UnsupportedError("a start that is a tensor is not supported")
    return part(graph, x, dim, start_of(graph.shape_of(x)[dim % graph.rank_of(x)], start), length)


@converts("aten.select")
def select(graph: Graph, x: Any, dim: int, index: Any) -> Any:
    """One element along `dim`, which the result does not have."""
    dim %= graph.rank_of(x)
    first = start_of(graph.shape_of(x)[dim], index)
    return graph.reshape(part(graph, x, dim, first, 1), graph.shape)


@converts("aten.split.Tensor", "aten.split.sizes", "aten.split_with_sizes", "aten.chunk",
          "aten.tensor_split.sections", "aten.tensor_split.indices")  # fmt: skip
def split(graph: Graph, x: Any, _: Any, dim: int = 0) -> list[Any]:
    """Parts one after the other along `dim`; torch knows how long each is."""
    start, results = 0, []
    for fake in graph.result:
        length = number(graph.sizes.shape(fake.shape)[dim])
        results.append(part(graph, x, dim, start, length))
        start = start + length
    return results


@converts("aten.unbind")
def unbind(graph: Graph, x: Any, dim: int = 0) -> list[Any]:
    """All parts along `dim`, which they do not have."""
    return [
        graph.reshape(part(graph, x, dim, index, 1), graph.sizes.shape(fake.shape))
        for index, fake in enumerate(graph.result)
    ]


@converts("aten.unfold")
def unfold(graph: Graph, x: Any, dim: int, size: int, step: int) -> Any:
    """Windows along `dim`, which overlap or not; a new last dimension has their elements."""
    rank = graph.rank_of(x)
    if not rank:
        return graph.reshape(x, graph.shape)
    dim %= rank
    starts = op.multiply(op.arange(0, graph.shape[dim], 1, dtype="int64"), step)
    inside = op.arange(0, size, 1, dtype="int64")
    places = graph.emit(op.add(op.expand_dims(graph.emit(starts), 1), graph.emit(inside)))
    windows = graph.emit(op.take(x, places, dim))
    axes = [axis for axis in range(rank + 1) if axis != dim + 1]
    return graph.permute(windows, [*axes, dim + 1])


@converts("aten.as_strided")
def as_strided(
    graph: Graph, x: Any, size: Sequence[Any], stride: Sequence[Any], offset: Any = None
) -> Any:
    """Elements by their places in memory, which are those of a compact array."""
    fake = graph.node.args[0].meta["val"]  # type: ignore[union-attr]
    numbers = [*fake.shape, *size, *stride, offset or 0]
    if not fake.is_contiguous() or not all(isinstance(number, int) for number in numbers):
        raise UnsupportedError("only compact arrays of known sizes can be given other strides")
    places = np.full(tuple(size), offset or 0, "int64")
    for axis, (extent, distance) in enumerate(zip(size, stride, strict=True)):
        thin = [-1 if other == axis else 1 for other in range(len(size))]
        places += (np.arange(extent) * distance).reshape(thin)
    return graph.emit(op.take(graph.reshape(x, [fake.numel()]), const(places), 0))


@converts("aten.diagonal")
def diagonal(graph: Graph, x: Any, offset: int = 0, first: int = 0, second: int = 1) -> Any:
    """The diagonal of two dimensions, as the last one: every so many of all their elements."""
    rank = graph.rank_of(x)
    first, second = first % rank, second % rank
    others = [dim for dim in range(rank) if dim not in (first, second)]
    x = graph.permute(x, [*others, first, second])
    *outer, rows, columns = graph.shape_of(x)
    start = offset if offset >= 0 else -offset * columns
    length = number(graph.shape[-1])
    flat = graph.reshape(x, [*outer, rows * columns])
    if isinstance(number(columns), int):
        return part(graph, flat, -1, start, length, columns + 1)
    steps = op.multiply(op.arange(0, length, 1, dtype="int64"), graph.operand(columns + 1, "int64"))
    return graph.emit(op.take(flat, op.add(steps, graph.operand(start, "int64")), -1))


@converts("aten.roll")
def roll(graph: Graph, x: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    """Elements shifted along each of `dims`; what leaves at one end enters at the other."""
    if not dims:
        shape = graph.shape_of(x)
        flat = graph.reshape(x, [product(shape)])
        return graph.reshape(roll(graph, flat, shifts, [0]), shape)
    for shift, dim in zip(shifts, dims, strict=True):
        extent = number(graph.shape_of(x)[dim])
        cut = number(-shift % maximum(extent, 1))
        tail = part(graph, x, dim, cut, extent - cut)
        x = graph.emit(op.concat([tail, part(graph, x, dim, 0, cut)], dim))
    return x


@converts("aten.slice_scatter")
def slice_scatter(
    graph: Graph, x: Any, source: Any, dim: int = 0, start: Any = None, end: Any = None,
    step: Any = 1,
) -> Any:  # fmt: skip
    """`x` with ``x[start:end:step]`` along `dim` replaced."""
    dim %= graph.rank_of(x)
    extent = number(graph.shape_of(x)[dim])
    first, length = start_of(extent, start), number(graph.shape_of(source)[dim])
    if step != 1:
        return _scattered_in_steps(graph, x, source, dim, first, length, step)
    if graph.same_shape(source, graph.shape):
        return graph.cast(source, graph.dtype)
    rest = extent - first - length
    pieces = [
        None if isinstance(first, int) and first == 0 else part(graph, x, dim, 0, first),
        graph.cast(source, graph.dtype),
        None if isinstance(rest, int) and rest == 0
        else part(graph, x, dim, first + length, rest),
    ]  # fmt: skip
    return graph.emit(op.concat([piece for piece in pieces if piece is not None], dim))


def _scattered_in_steps(
    graph: Graph, x: Any, source: Any, dim: int, first: Any, length: Any, step: Any
) -> Any:
    """`x` with every so many elements along `dim` replaced: chosen from both of them."""
    extent = number(graph.shape_of(x)[dim])
    if not all(isinstance(number, int) for number in (extent, first, length, step)):
        raise UnsupportedError("replacing a part of unknown size in steps is not supported")
    places = np.arange(extent)
    places[first::step] = extent + np.arange(length)
    both = graph.emit(op.concat([x, graph.cast(source, graph.dtype)], dim))
    return graph.emit(op.take(both, const(places), dim))


@converts("aten.select_scatter")
def select_scatter(graph: Graph, x: Any, source: Any, dim: int, index: Any) -> Any:
    """`x` with one element along `dim` replaced."""
    dim %= graph.rank_of(x)
    shape = graph.shape_of(x)
    shape[dim] = 1
    first = start_of(graph.shape_of(x)[dim], index)
    return slice_scatter(graph, x, graph.reshape(source, shape), dim, first)


# --- borders ----------------------------------------------------------------------------------


@converts("aten.constant_pad_nd")
def constant_pad(graph: Graph, x: Any, pad: Sequence[int], value: float = 0) -> Any:
    """`value` around the elements; `pad` starts with the last dimension, and may cut, too."""
    rank = graph.rank_of(x)
    widths = [(0, 0)] * (rank - len(pad) // 2)
    widths += reversed(list(zip(pad[::2], pad[1::2], strict=True)))
    for dim, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            cut = max(-before, 0), max(-after, 0)
            x = part(graph, x, dim, cut[0], graph.shape_of(x)[dim] - cut[0] - cut[1])
    amounts = [max(amount, 0) for width in widths for amount in width]
    if not any(amounts):
        return x
    return graph.emit(op.nn.pad(x, amounts, pad_value=value))


@converts("aten.pad")
def pad(
    graph: Graph, x: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Any:
    """A border of constants, of the mirrored elements, or of the outermost ones."""
    if mode == "constant":
        return constant_pad(graph, x, pad, value or 0)
    if min(pad) < 0 or mode not in ("reflect", "replicate", "circular"):
        raise UnsupportedError(f"mode {mode!r} with padding {pad} is not supported")
    widths = [(0, 0)] * (graph.rank_of(x) - len(pad) // 2)
    widths += reversed(list(zip(pad[::2], pad[1::2], strict=True)))
    return graph.emit(op.nn.pad(x, widths, mode))


convert_by({
    "aten.reflection_pad1d aten.reflection_pad2d aten.reflection_pad3d":
        lambda graph, x, amounts: pad(graph, x, amounts, "reflect"),
    "aten.replication_pad1d aten.replication_pad2d aten.replication_pad3d":
        lambda graph, x, amounts: pad(graph, x, amounts, "replicate"),
})  # fmt: skip
