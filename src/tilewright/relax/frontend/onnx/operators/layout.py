"""Other shapes and orders of the same elements, joining arrays, and parts of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright import topi
from tilewright.ir.arithmetic import floordiv, maximum, select
from tilewright.relax import op
from tilewright.relax.frontend.compositions import broadcast, product, tiled
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import NotConstantError, convert_by, converts
from tilewright.relax.frontend.table import UnsupportedError


@converts("Reshape")
def reshape(graph: Graph, x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    """The elements in the same order in another shape."""
    wanted, extents = graph.integers(shape), graph.shape_of(x)
    known = [_is_extent(graph, size) for size in wanted]
    copied = [
        extents[axis] if isinstance(size, int) and size == 0 and not allowzero else size
        for axis, size in enumerate(wanted)
    ]
    if all(known):
        return graph.reshape(x, copied) if -1 not in _plain(copied) else op.reshape(x, copied)
    # What is computed may be 0 for the extent of the array, and -1 for what is left.
    sizes = [
        size if fine or allowzero or axis >= len(extents)
        else select(size == 0, extents[axis], size)
        for axis, (size, fine) in enumerate(zip(copied, known, strict=True))
    ]  # fmt: skip
    others = product([select(size == -1, 1, size) if not isinstance(size, int) else abs(size)
                      for size in sizes])  # fmt: skip
    rest = floordiv(product(extents), maximum(others, 1))
    final = [rest if isinstance(size, int) and size == -1
             else size if isinstance(size, int) else select(size == -1, rest, size)
             for size in sizes]  # fmt: skip
    return op.reshape(x, graph.bound(final))


def _is_extent(graph: Graph, size: Any) -> bool:
    """Whether a number is known to be an extent, rather than one of the placeholders 0 and -1."""
    return isinstance(size, int) or graph.builder.analyzer.can_prove(size >= 0)


def _plain(sizes: Sequence[Any]) -> list[int]:
    return [size for size in sizes if isinstance(size, int)]


@converts("Flatten")
def flatten(graph: Graph, x: Any, *, axis: int = 1) -> Any:
    """A matrix: the dimensions before `axis` together, and the others."""
    shape = graph.shape_of(x)
    axis = len(shape) if axis == len(shape) else graph.axis(axis, len(shape))
    return graph.reshape(x, [product(shape[:axis]), product(shape[axis:])])


@converts("Transpose")
def transpose(graph: Graph, x: Any, *, perm: Sequence[int] | None = None) -> Any:
    """Dimensions in another order, by default in the opposite one."""
    rank = graph.rank_of(x)
    order = list(reversed(range(rank))) if perm is None else list(perm)
    if sorted(order) != list(range(rank)):
        raise UnsupportedError(f"perm={order} is not an order of {rank} dimensions")
    return graph.permute(x, order) if rank else x


@converts("Unsqueeze")
def unsqueeze(graph: Graph, x: Any, axes: Any) -> Any:
    """New dimensions of extent 1."""
    return op.expand_dims(x, graph.axes(axes))


@converts("Squeeze")
def squeeze(graph: Graph, x: Any, axes: Any = None) -> Any:
    """The array without dimensions of extent 1."""
    if axes is not None:
        return op.squeeze(x, graph.axes(axes))
    extents = [number(extent) for extent in graph.shape_of(x)]
    if not all(isinstance(extent, int) for extent in extents):
        raise UnsupportedError("without axes, the shape must be known")
    return graph.reshape(x, [extent for extent in extents if extent != 1])


@converts("Concat")
def concat(graph: Graph, *operands: Any, axis: int) -> Any:
    """Arrays one after the other along an axis."""
    return operands[0] if len(operands) == 1 else op.concat(operands, axis)


@converts("Split")
def split(
    graph: Graph, x: Any, split: Any = None, *, axis: int = 0, num_outputs: int | None = None
) -> list[Any]:
    """Parts one after the other along an axis."""
    count = num_outputs or graph.result_count()
    axis = graph.axis(axis, graph.rank_of(x))
    extent = number(graph.shape_of(x)[axis])
    if split is not None:
        sizes = graph.integers(split)
    elif isinstance(extent, int):
        part = -(-extent // count)
        sizes = [max(min(part, extent - n * part), 0) for n in range(count)]
    else:
        part = floordiv(extent + count - 1, count)
        sizes = [part] * (count - 1) + [extent - part * (count - 1)]
    start: Any = 0
    results = []
    for size in sizes:
        results.append(sliced(graph, x, axis, start, start + size))
        start = start + size
    return results


def sliced(graph: Graph, x: Any, axis: int, start: Any, end: Any) -> Any:
    """``x[start:end]`` along an axis."""
    shape = graph.shape_of(x)
    shape[axis] = end - start
    if number(start) == 0 and graph.same_shape(x, shape):
        return x
    return graph.emit(op.strided_slice(x, [axis], [start], [end]))


@converts("Slice")
def slice_along(
    graph: Graph, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> Any:
    """The part ``start:end:step`` of some dimensions."""
    begin, end = graph.integers(starts), graph.integers(ends)
    along = list(range(len(begin))) if axes is None else graph.axes(axes)
    stride = [1] * len(begin) if steps is None else graph.axes(steps, "steps")
    if not along:
        return x
    return op.strided_slice(x, along, begin, end, stride)


@converts("Expand")
def expand(graph: Graph, x: Any, shape: Any) -> Any:
    """Dimensions of extent 1 repeated, in both directions."""
    wanted, extents = graph.integers(shape), graph.shape_of(x)
    rank = max(len(wanted), len(extents))
    wanted = [1] * (rank - len(wanted)) + wanted
    extents = [1] * (rank - len(extents)) + [number(extent) for extent in extents]
    final = graph.bound([_broadcast(graph, *pair) for pair in zip(extents, wanted, strict=True)])
    return broadcast(graph, graph.reshape(x, extents), final)


def _broadcast(graph: Graph, extent: Any, size: Any) -> Any:
    if isinstance(size, int):
        return extent if size == 1 else size
    if isinstance(extent, int) and extent == 1:
        return size
    if graph.builder.analyzer.can_prove_equal(extent, size):
        return extent
    return select(size == 1, extent, size)


@converts("Tile")
def tile(graph: Graph, x: Any, repeats: Any) -> Any:
    """The whole array repeated along each dimension."""
    return tiled(graph, x, graph.bound(graph.integers(repeats)))


@converts("Pad")
def pad(
    graph: Graph, x: Any, pads: Any, value: Any = None, axes: Any = None, *,
    mode: str = "constant",
) -> Any:  # fmt: skip
    """A border of constants, or of elements; negative widths cut."""
    rank = graph.rank_of(x)
    amounts = graph.integers(pads)
    along = range(rank) if axes is None else [graph.axis(axis, rank) for axis in graph.axes(axes)]
    before: list[Any] = [0] * rank
    after: list[Any] = [0] * rank
    count = len(along)
    for position, axis in enumerate(along):
        before[axis], after[axis] = amounts[position], amounts[count + position]
    if not all(isinstance(amount, int) for amount in [*before, *after]):
        raise NotConstantError("`pads` must be constant")
    for axis in range(rank):
        if before[axis] < 0 or after[axis] < 0:
            extent = graph.shape_of(x)[axis]
            x = sliced(graph, x, axis, max(-before[axis], 0), extent + min(after[axis], 0))
    widths = [max(amount, 0) for pair in zip(before, after, strict=True) for amount in pair]
    if not any(widths):
        return x
    if mode == "constant":
        return _constant_pad(graph, x, widths, value)
    modes = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in modes:
        raise UnsupportedError(f"the mode {mode!r} is not supported")
    return op.nn.pad(x, widths, modes[mode])


def _constant_pad(graph: Graph, x: Any, widths: Sequence[int], value: Any) -> Any:
    if value is None:
        return op.nn.pad(x, widths, pad_value=0)
    known = graph.elements(value)
    if (
        known is not None
        and known.is_constant
        and math.isfinite(float(known.values.reshape(-1)[0]))
    ):
        return op.nn.pad(x, widths, pad_value=known.values.reshape(-1)[0].item())
    # Where the border is, a mask of ones has zeros.
    shape = graph.shape_of(x)
    inside = graph.emit(op.nn.pad(graph.emit(op.ones(shape, "int8")), widths, pad_value=0))
    value = graph.reshape(value, [])
    truth = op.not_equal(inside, graph.operand(0, "int8"))
    return op.where(truth, op.nn.pad(x, widths, pad_value=0), value)


@converts("DepthToSpace")
def depth_to_space(graph: Graph, x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Blocks of channels become blocks of pixels."""
    n, channels, height, width = graph.shape_of(x)
    b = blocksize
    depth = channels // (b * b)
    if mode == "DCR":
        split, order = [n, b, b, depth, height, width], [0, 3, 4, 1, 5, 2]
    else:
        split, order = [n, depth, b, b, height, width], [0, 1, 4, 2, 5, 3]
    blocks = graph.permute(graph.reshape(x, split), order)
    return graph.reshape(blocks, [n, depth, height * b, width * b])


@converts("SpaceToDepth")
def space_to_depth(graph: Graph, x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    """Blocks of pixels become blocks of channels."""
    n, channels, height, width = graph.shape_of(x)
    b = blocksize
    split = graph.reshape(x, [n, channels, height // b, b, width // b, b])
    order = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    shape = [n, channels * b * b, height // b, width // b]
    return graph.reshape(graph.permute(split, order), shape)


@converts("Trilu")
def trilu(graph: Graph, x: Any, k: Any = None, *, upper: int = 1) -> Any:
    """The triangle above a diagonal, or below it; zeros elsewhere."""
    (diagonal,) = [0] if k is None else graph.integers(k)
    dtype = graph.dtype_of(x)
    x = graph.cast(x, "int8") if dtype == "bool" else x
    return graph.cast(graph.emit((op.triu if upper else op.tril)(x, diagonal)), dtype)


@converts("ReverseSequence")
def reverse_sequence(
    graph: Graph, x: Any, lengths: Any, *, time_axis: int = 0, batch_axis: int = 1
) -> Any:
    """The first elements of each sequence in the opposite order."""
    return graph.emit_te(topi.reverse_sequence, x, lengths, time_axis, batch_axis)


@converts("Identity")
def identity(graph: Graph, x: Any) -> Any:
    """The value itself."""
    return x


@converts("Dropout")
def dropout(
    graph: Graph, x: Any, ratio: Any = None, training_mode: Any = None, *, seed: int = 0
) -> list[Any]:
    """`x` as it is, outside of training."""
    if training_mode is not None and np.any(graph.constants(training_mode, "training_mode")):
        share = 0.5 if ratio is None else float(graph.constants(ratio, "ratio"))
        if share:
            raise UnsupportedError("random numbers are not supported")
    shape = graph.shape_of(x)
    mask = op.full(shape, graph.operand(True, "bool"), "bool")
    return [x, mask if graph.has_result(1) else None]


@converts("Shape")
def shape_of(graph: Graph, x: Any, *, start: int = 0, end: int | None = None) -> Any:
    """The extents of an array, or some of them."""
    return graph.numbers(graph.shape_of(x)[slice(start, end)])


convert_by({
    "Size": lambda graph, x: graph.numbers(product(graph.shape_of(x))),
})  # fmt: skip
