"""Images of other sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import cast
from tilewright.relax import op
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.resampling import TRIANGLE, cubic, resampled, table
from tilewright.relax.frontend.table import UnsupportedError


class _Axis(NamedTuple):
    """How one dimension is resized.

    Attributes:
        axis: which one.
        extent: the number of elements.
        size: that of the result.
        scale: the factor between them as the model gives it.
        region: the part of the dimension that is enlarged, from 0 to 1.
    """

    axis: int
    extent: int
    size: int
    scale: float
    region: tuple[float, float]


class _Options(NamedTuple):
    """The attributes of ``Resize``."""

    mode: str
    place: str
    nearest: str
    alpha: float
    excludes: bool
    antialias: bool


@converts("Resize", since=11)
def resize(
    graph: Graph, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, *,
    antialias: int = 0, axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    """An array of another size: each element from those around its place in the array."""
    options = _Options(
        mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, bool(exclude_outside),
        bool(antialias),
    )  # fmt: skip
    rank = graph.rank_of(x)
    along = list(range(rank)) if axes is None else [graph.axis(axis, rank) for axis in axes]
    extents = [number(graph.shape_of(x)[axis]) for axis in along]
    if not all(isinstance(extent, int) for extent in extents):
        return _dynamic(graph, x, along, scales, sizes, options)
    regions = [(0.0, 1.0)] * len(along)
    if roi is not None and options.place == "tf_crop_and_resize":
        bounds = graph.constants(roi, "roi").reshape(2, -1).astype("float64")
        regions = [(float(a), float(b)) for a, b in bounds.T]
    parts = _axes(graph, along, extents, scales, sizes, regions, keep_aspect_ratio_policy)
    outside = []
    for part in parts:
        if part.scale == 1 and part.extent == part.size and options.place != "tf_crop_and_resize":
            continue
        place = _places(part, options.place)
        x = _resized(graph, x, part, place, options)
        if options.place == "tf_crop_and_resize":
            outside.append((part.axis, (place < 0) | (place > part.extent - 1)))
    return _extrapolated(graph, x, outside, extrapolation_value)


@converts("Upsample", since=9)
def upsample(graph: Graph, x: Any, scales: Any, *, mode: str = "nearest") -> Any:
    """An enlarged array."""
    return resize(
        graph, x, None, scales, coordinate_transformation_mode="asymmetric", mode=mode,
        nearest_mode="floor",
    )  # fmt: skip


def _axes(
    graph: Graph, along: Sequence[int], extents: Sequence[int], scales: Any, sizes: Any,
    regions: Sequence[tuple[float, float]], policy: str,
) -> list[_Axis]:  # fmt: skip
    """The dimensions with what they are resized to."""
    if sizes is None or not graph.constants(sizes, "sizes").size:
        factors = [float(f) for f in graph.constants(scales, "scales").reshape(-1)]
        wanted = [
            int(np.floor(extent * (factor * (b - a))))
            for extent, factor, (a, b) in zip(extents, factors, regions, strict=True)
        ]
    else:
        wanted = graph.axes(sizes, "sizes")
        factors = [size / extent for size, extent in zip(wanted, extents, strict=True)]
        if policy != "stretch":
            factor = (min if policy == "not_larger" else max)(factors)
            factors = [factor] * len(factors)
            wanted = [int(np.floor(factor * extent + 0.5)) for extent in extents]
    if any(not 0 < size < 1 << 24 for size in wanted) or any(factor <= 0 for factor in factors):
        raise UnsupportedError(f"the sizes {wanted} are not supported")
    return [_Axis(*part) for part in zip(along, extents, wanted, factors, regions, strict=True)]


def _places(part: _Axis, mode: str) -> np.ndarray:
    """Where the elements of the result are in the array."""
    x = np.arange(part.size, dtype="float64")
    exact = part.scale * part.extent
    centre = (x + 0.5) / part.scale - 0.5
    if mode == "half_pixel":
        return centre
    if mode == "half_pixel_symmetric":
        return part.extent / 2 * (1 - part.size / exact) + centre
    if mode == "pytorch_half_pixel":
        return centre if part.size > 1 else np.full(1, -0.5)
    if mode == "align_corners":  # the size before it is rounded, as the standard's cases have it
        return x * (part.extent - 1) / (exact - 1) if exact > 1 else np.zeros(part.size)
    if mode == "asymmetric":
        return x / part.scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / part.scale
    if mode == "tf_crop_and_resize":
        first, last = part.region
        if part.size == 1:
            return np.full(1, (first + last) / 2 * (part.extent - 1))
        return (first + x * (last - first) / (part.size - 1)) * (part.extent - 1)
    raise UnsupportedError(f"coordinate_transformation_mode={mode!r} is not supported")


def _resized(graph: Graph, x: Any, part: _Axis, place: np.ndarray, options: _Options) -> Any:
    """The array with one dimension resized."""
    if options.mode == "nearest":
        below = np.ceil(place) - 1
        index = below + _next(place - below, options.nearest)
        return graph.emit(op.take(x, _clipped(graph, index, part.extent), part.axis))
    kernels = {"linear": TRIANGLE, "cubic": cubic(options.alpha)}
    if options.mode not in kernels:
        raise UnsupportedError(f"mode={options.mode!r} is not supported")
    width = max(1 / part.scale, 1.0) if options.antialias else 1.0
    kernel = kernels[options.mode]
    around = table(place, part.extent, kernel, width, excludes=options.excludes)
    return resampled(graph, x, part.axis, around)


def _clipped(graph: Graph, index: np.ndarray, extent: int) -> Any:
    return graph.constant(np.clip(index, 0, extent - 1), "int64")


def _next(ratio: np.ndarray, mode: str) -> np.ndarray:
    """Whether the next element is nearer than the one before.

    Args:
        ratio: of the way to the next element, more than 0.
        mode: which one is where both are as near, or always.
    """
    whole = ratio == 1
    if mode == "round_prefer_floor":
        return ratio > 0.5
    if mode == "round_prefer_ceil":
        return ratio >= 0.5
    if mode == "floor":
        return whole
    if mode == "ceil":
        return np.ones_like(whole)
    raise UnsupportedError(f"nearest_mode={mode!r} is not supported")


def _extrapolated(
    graph: Graph, x: Any, outside: Sequence[tuple[int, np.ndarray]], value: float
) -> Any:
    """The array with one value where places are outside."""
    for axis, mask in outside:
        if mask.any():
            thin = [1] * graph.rank_of(x)
            thin[axis] = -1
            truth = graph.constant(mask.reshape(thin), "bool")
            x = graph.emit(op.where(truth, graph.scalar_like(value, x), x))
    return x


def _dynamic(
    graph: Graph, x: Any, along: Sequence[int], scales: Any, sizes: Any, options: _Options
) -> Any:
    """Images whose extents are not known before the program runs."""
    modes = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
    places = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
              "tf_half_pixel_for_nn")  # fmt: skip
    fine = options.mode in modes and options.place in places and not options.antialias
    if graph.rank_of(x) != 4 or not fine:
        raise UnsupportedError("a dynamic extent of the array is not supported for these modes")
    extents = graph.shape_of(x)
    if sizes is not None:
        wanted: list[Any] = list(extents)
        for axis, size in zip(along, graph.integers(sizes), strict=True):
            wanted[axis] = size
    else:
        factors = dict(zip(along, graph.constants(scales, "scales").tolist(), strict=True))
        if any(
            factor != int(factor) and factor * 2 != int(factor * 2) for factor in factors.values()
        ):
            raise UnsupportedError("a scale that gives no whole extents is not supported")
        wanted = [
            floordiv(extent * int(2 * factors.get(axis, 1)), 2)
            for axis, extent in enumerate(extents)
        ]
    if not graph.same_shape(x, [*wanted[:2], *extents[2:]]):
        raise UnsupportedError("the batch and the channels keep their extents")
    return op.image.resize2d(
        x, [cast("int64", size) if not isinstance(size, int) else size for size in wanted[2:]],
        method=modes[options.mode], coordinate_transformation_mode=options.place,
        rounding_method=options.nearest if options.mode == "nearest" else "",
        cubic_alpha=options.alpha, cubic_exclude=int(options.excludes),
    )  # fmt: skip
