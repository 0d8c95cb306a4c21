"""Pooling and resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.frontend.compositions import sampled
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.resampling import TRIANGLE, Kernel, cubic, resampled, table
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.products import each, with_batch
from tilewright.relax.frontend.torch.table import converts

_MAX: Final = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVERAGE: Final = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}
_ADAPTIVE: Final = {
    1: op.nn.adaptive_avg_pool1d, 2: op.nn.adaptive_avg_pool2d, 3: op.nn.adaptive_avg_pool3d,
}  # fmt: skip


def _rank(graph: Graph) -> int:
    """The number of dimensions that are pooled, from the name of the operator."""
    return int(str(graph.node.target).split("pool")[1][0])


@converts("aten.max_pool1d", "aten.max_pool2d", "aten.max_pool3d")
def max_pool(
    graph: Graph, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    return graph.reshape(
        _max_pool(graph, x, kernel, stride, padding, dilation, ceil_mode), graph.shape
    )


def _max_pool(
    graph: Graph, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    rank = _rank(graph)
    value = _MAX[rank](
        with_batch(graph, x, rank),
        pool_size=each(kernel, rank),
        strides=each(stride or kernel, rank),
        padding=each(padding, rank) * 2,
        dilation=each(dilation, rank),
        ceil_mode=ceil_mode,
    )
    return graph.emit(value)


@converts("aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")
def max_pool_with_indices(
    graph: Graph, x: Any, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[Any]:  # fmt: skip
    """The largest element of each window, and where it is."""
    value = _max_pool(graph, x, kernel, stride, padding, dilation, ceil_mode)
    shape, rank = graph.sizes.shape(graph.result[0].shape), _rank(graph)
    if not graph.uses_result(1):
        return [graph.reshape(value, shape), None]
    places = graph.emit_te(
        topi.nn.places_of_maxima, with_batch(graph, x, rank), each(kernel, rank),
        each(stride or kernel, rank), each(dilation, rank), each(padding, rank) * 2, ceil_mode,
        "NCDHW" if rank == 3 else "NCHW",
    )  # fmt: skip
    return [graph.reshape(value, shape), graph.reshape(places, shape)]


@converts("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def avg_pool(
    graph: Graph, x: Any, kernel: Any, stride: Any = (), padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    rank = _rank(graph)
    images, strides = with_batch(graph, x, rank), each(stride or kernel, rank)
    if divisor is not None:
        pool, layout = (topi.nn.pool3d, "NCDHW") if rank == 3 else (topi.nn.pool2d, "NCHW")
        value = graph.emit_te(
            pool, images, each(kernel, rank), strides, 1, each(padding, rank) * 2, "avg",
            ceil_mode, layout, divisor=divisor,
        )  # fmt: skip
        return graph.reshape(value, graph.shape)
    value = _AVERAGE[rank](
        images,
        pool_size=each(kernel, rank),
        strides=strides,
        padding=each(padding, rank) * 2,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )
    return graph.reshape(graph.emit(value), graph.shape)


@converts(
    "aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d",
    "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d",
)  # fmt: skip
def adaptive_avg_pool(graph: Graph, x: Any, size: Any) -> Any:
    """The means of a given number of windows that share the elements evenly."""
    rank = _rank(graph)
    value = _ADAPTIVE[rank](with_batch(graph, x, rank), graph.shape[-rank:])
    return graph.reshape(graph.emit(value), graph.shape)


@converts("aten.adaptive_max_pool2d", "aten.adaptive_max_pool3d")
def adaptive_max_pool(graph: Graph, x: Any, size: Any) -> list[Any]:
    """The maxima of a given number of windows that share the elements evenly, and their places."""
    rank = _rank(graph)
    extents = graph.sizes.shape(graph.result[0].shape)
    images, layout = with_batch(graph, x, rank), "NCDHW" if rank == 3 else "NCHW"
    value = graph.emit_te(topi.nn.adaptive_pool, images, extents[-rank:], "max", layout)
    if not graph.uses_result(1):
        return [graph.reshape(value, extents), None]
    places = graph.emit_te(topi.nn.places_of_adaptive_maxima, images, extents[-rank:], layout)
    return [graph.reshape(value, extents), graph.reshape(places, extents)]


_METHODS: Final = ("bilinear", "nearest", "bicubic")
_PADDINGS: Final = ("zeros", "border", "reflection")


@converts("aten.grid_sampler", "aten.grid_sampler_2d", "aten.grid_sampler_3d")
def grid_sample(
    graph: Graph, x: Any, grid: Any, method: int, padding: int, align_corners: bool
) -> Any:
    """The pixels at the places of a grid."""
    return sampled(graph, x, grid, _METHODS[method], _PADDINGS[padding], align_corners)


def _resize(graph: Graph, x: Any, method: str, align_corners: bool) -> Any:
    """`x` resized to the extents of the result."""
    place = "align_corners" if align_corners else "half_pixel"
    if method == "nearest_neighbor":
        place = "asymmetric"
    value = op.image.resize2d(
        x,
        graph.shape[2:],
        method=method,
        coordinate_transformation_mode=place,
        rounding_method="floor" if method == "nearest_neighbor" else "",
        cubic_alpha=-0.75,
    )
    return graph.emit(value)


def _resized_by_factors(graph: Graph, x: Any, given: Sequence[Any], method: str) -> Any:
    """`x` resized by factors that do not give whole extents; None if there are none such.

    Torch computes places with the factors then, not with the extents.
    """
    scales = given[0] if given and isinstance(given[0], list) else given
    if not scales or scales[0] is None:
        return None
    before, after = graph.node.args[0].meta["val"].shape[2:], graph.result.shape[2:]  # type: ignore
    if all(a == b * scale for a, b, scale in zip(after, before, scales, strict=True)):
        return None
    for axis, scale in enumerate(scales, start=2):
        extent, size = (number(shape[axis]) for shape in (graph.shape_of(x), graph.shape))
        if not isinstance(extent, int) or not isinstance(size, int):
            raise UnsupportedError("a scale of dynamic extents is not supported")
        if size == extent and method != "cubic":  # torch does not look at the factor then
            continue
        kernel = cubic(-0.75) if method == "cubic" else TRIANGLE
        around = table(_places(size, scale, method), extent, kernel)
        x = resampled(graph, x, axis, around)
    return x


def _places(size: int, scale: float, method: str) -> np.ndarray:
    """Where each of `size` pixels is in the image."""
    ratio, index = np.float32(1 / scale), np.arange(size, dtype="float32")
    if method == "nearest_neighbor":
        return np.floor(index * ratio)
    place = ratio * (index + np.float32(0.5)) - np.float32(0.5)
    return np.maximum(place, 0) if method == "linear" else place


@converts("aten.upsample_nearest2d.vec", "aten.upsample_nearest2d.default")
def upsample_nearest(graph: Graph, x: Any, size: Any, *scales: Any) -> Any:
    """The nearest pixel before each place."""
    resized = _resized_by_factors(graph, x, scales, "nearest_neighbor")
    return _resize(graph, x, "nearest_neighbor", False) if resized is None else resized


@converts("aten.upsample_bilinear2d")
def upsample_bilinear(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """Linear interpolation between pixels."""
    resized = None if align_corners else _resized_by_factors(graph, x, scales, "linear")
    return _resize(graph, x, "linear", align_corners) if resized is None else resized


@converts("aten.upsample_linear1d", "aten.upsample_trilinear3d")
def upsample_linear(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """Linear interpolation between elements of sequences or volumes."""
    resized = None if align_corners else _resized_by_factors(graph, x, scales, "linear")
    if resized is not None:
        return resized
    is_volume = graph.rank_of(x) == 5
    resize, layout = (topi.image.resize3d, "NCDHW") if is_volume else (topi.image.resize1d, "NCW")
    place = "align_corners" if align_corners else "half_pixel"
    return graph.emit_te(resize, x, None, graph.shape[2:], layout, "linear", place)


@converts("aten.upsample_bicubic2d")
def upsample_bicubic(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """Cubic interpolation between pixels."""
    resized = None if align_corners else _resized_by_factors(graph, x, scales, "cubic")
    return _resize(graph, x, "cubic", align_corners) if resized is None else resized


@converts("aten._upsample_bilinear2d_aa")
def resize_bilinear(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """Means of the pixels around, the nearer ones counting more."""
    return _resized(graph, x, TRIANGLE, align_corners, scales)


@converts("aten._upsample_bicubic2d_aa")
def resize_bicubic(graph: Graph, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """The same with cubic weights."""
    return _resized(graph, x, cubic(-0.5), align_corners, scales)


def _resized(
    graph: Graph, x: Any, kernel: Kernel, align_corners: bool, scales: Sequence[Any]
) -> Any:
    """The means along the columns, then along the rows."""
    given = scales[0] if scales and isinstance(scales[0], list) else scales
    factors = [*given, None, None]
    for axis in (1, 0):
        extent, size = (number(shape[2 + axis]) for shape in (graph.shape_of(x), graph.shape))
        if not isinstance(extent, int) or not isinstance(size, int):
            raise UnsupportedError("dynamic extents of images are not supported")
        ratio = 1 / factors[axis] if factors[axis] else extent / size
        if align_corners:
            ratio = (extent - 1) / (size - 1) if size > 1 else 0.0
        places = ratio * (np.arange(size) + 0.5) - 0.5
        around = table(places, extent, kernel, max(ratio, 1.0), excludes=True)
        x = resampled(graph, x, 2 + axis, around)
    return x
