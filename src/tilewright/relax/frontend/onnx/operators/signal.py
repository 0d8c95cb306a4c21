"""Fourier transforms, with complex numbers as pairs in the last dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.relax import op
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.fourier import Complex, is_possible, transform, whole
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.layout import sliced
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.onnx.tensors import dtype_of
from tilewright.relax.frontend.table import UnsupportedError


@converts("DFT")
def fourier(
    graph: Graph, x: Any, length: Any = None, axis: Any = None, *, inverse: int = 0,
    onesided: int = 0,
) -> Any:  # fmt: skip
    """The discrete Fourier transform along an axis."""
    rank = graph.rank_of(x)
    default = 1 if graph.version < 20 else -2
    along = graph.axis(default if axis is None else graph.integer(axis, "axis"), rank)
    extent = number(graph.shape_of(x)[along])
    size = extent if length is None else graph.integer(length, "dft_length")
    if onesided and inverse and length is None:
        size = 2 * (extent - 1)
    if not isinstance(size, int) or not isinstance(extent, int) or not is_possible(size):
        raise UnsupportedError(f"a transform of {size} elements is not supported")
    return transformed(graph, x, along, size, bool(inverse), bool(onesided))


def transformed(graph: Graph, x: Any, axis: int, size: int, inverse: bool, onesided: bool) -> Any:
    """A transform of `size` elements along an axis; shorter ones get zeros at their end.

    In float64: where terms cancel each other, nothing else should be left.
    """
    dtype, half = graph.dtype_of(x), size // 2 + 1
    is_complex = number(graph.shape_of(x)[-1]) == 2
    numbers = [_moved(graph, x, axis, part) for part in range(1 + is_complex)]
    used = half if onesided and inverse else size
    real, *rest = (_resized(graph, graph.cast(part, "float64"), used) for part in numbers)
    value = Complex(real, rest[0] if rest else None)
    if onesided and inverse:
        last = graph.rank_of(real) - 1
        imaginary = rest[0] if rest else graph.emit(op.zeros_like(real))
        value = whole(graph, Complex(real, imaginary), size, last)
    result: list[Any] = list(transform(graph, value, size, inverse))
    if onesided:
        result = result[:1] if inverse else [_resized(graph, part, half) for part in result]
    if inverse:
        factor = graph.operand(1 / size, "float64")
        result = [graph.emit(op.multiply(part, factor)) for part in result]
    parts = [graph.cast(part, dtype) for part in result]
    return _back(graph, op.stack(parts, -1), axis)


def _resized(graph: Graph, x: Any, size: int) -> Any:
    """The last dimension cut off, or with zeros at its end."""
    rank, extent = graph.rank_of(x), number(graph.shape_of(x)[-1])
    if extent > size:
        return sliced(graph, x, rank - 1, 0, size)
    if extent < size:
        return graph.emit(op.nn.pad(x, [0] * (2 * rank - 1) + [size - extent]))
    return x


def _moved(graph: Graph, x: Any, axis: int, part: int) -> Any:
    """The real or the imaginary part, with the dimension that is transformed at the end."""
    rank = graph.rank_of(x)
    shape = graph.shape_of(x)
    numbers = graph.reshape(sliced(graph, x, rank - 1, part, part + 1), shape[:-1])
    order = [n for n in range(rank - 1) if n != axis]
    return graph.permute(numbers, [*order, axis])


def _back(graph: Graph, x: Any, axis: int) -> Any:
    """The dimension that is transformed at its place again."""
    value = graph.emit(x)
    rank = graph.rank_of(value)
    order = list(range(rank - 2))
    order.insert(axis, rank - 2)
    return graph.permute(value, [*order, rank - 1])


@converts("STFT")
def short_time_fourier(
    graph: Graph, x: Any, frame_step: Any, window: Any = None, frame_length: Any = None, *,
    onesided: int = 1,
) -> Any:  # fmt: skip
    """The transforms of frames of a signal, which may overlap."""
    step = graph.integer(frame_step, "frame_step")
    if frame_length is not None:
        length = graph.integer(frame_length, "frame_length")
    elif window is not None:
        length = number(graph.shape_of(window)[0])
    else:
        raise UnsupportedError("neither frame_length nor window is given")
    total = number(graph.shape_of(x)[1])
    if not all(isinstance(size, int) for size in (length, total)) or not is_possible(length):
        raise UnsupportedError("frames of dynamic length are not supported")
    count = (total - length) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(length)
    frames = graph.emit(op.take(x, graph.constant(places, "int64"), 1))
    if window is not None:
        frames = graph.emit(op.multiply(frames, graph.reshape(window, [1, 1, length, 1])))
    return transformed(graph, frames, 2, length, False, bool(onesided))


@converts("MelWeightMatrix")
def mel_weights(
    graph: Graph, bins: Any, dft_length: Any, sample_rate: Any, lower: Any, upper: Any, *,
    output_datatype: int = 1,
) -> Any:  # fmt: skip
    """The weights of frequencies in the bands of the mel scale."""
    count, size, rate = (graph.integer(value, name) for value, name in (
        (bins, "num_mel_bins"), (dft_length, "dft_length"), (sample_rate, "sample_rate"),
    ))  # fmt: skip
    low, high = (
        float(graph.constants(value, name).reshape(-1)[0])
        for value, name in ((lower, "lower_edge_hertz"), (upper, "upper_edge_hertz"))
    )
    if not 0 < count < 1 << 16 or not 0 < size < 1 << 20:
        raise UnsupportedError("these sizes are not supported")
    edges = np.array([low, high])
    mel = 2595 * np.log10(1 + edges / 700)
    places = mel[0] + np.arange(count + 2) * ((mel[1] - mel[0]) / (count + 2))
    frequencies = 700 * (10 ** (places / 2595) - 1)
    spectrum = np.floor((size + 1) * frequencies / rate).astype(int)
    matrix = np.zeros((size // 2 + 1, count))
    for band in range(count):
        first, middle, last = spectrum[band : band + 3]
        if middle == first:
            matrix[middle, band] = 1
        else:
            rising = np.arange(first, middle + 1)
            matrix[rising, band] = (rising - first) / (middle - first)
        if last != middle:
            falling = np.arange(middle, last)
            matrix[falling, band] = (last - falling) / (last - middle)
    return graph.constant(matrix, dtype_of(output_datatype))
