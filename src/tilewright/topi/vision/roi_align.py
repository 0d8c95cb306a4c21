"""Parts of images in a size of their own (K. He et al., "Mask R-CNN", 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentValueError, DTypeError
from tilewright.ir.convert import as_expr, cast
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import constant, per_dimension, require_equal


def roi_align_nchw(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str | bytes = "avg",
    sample_ratio: int = 2,
) -> Tensor:
    """Averages (or maxima) of samples of boxes, ``(boxes, channel, pooled height, pooled width)``.

    A box is divided into parts of equal size. In each part there are samples on a regular grid,
    mixed from the four pixels around them; those more than one pixel outside of the image are 0.

    Args:
        data: ``(batch, channel, height, width)``, of floats.
        rois: ``(boxes, 5)``: the number of the image, left, top, right, bottom. A number that no
            image has stands for the nearest one.
        pooled_size: how many parts there are vertically and horizontally; one number for both.
        spatial_scale: the factor from the coordinates of boxes to pixels.
        mode: ``"avg"`` or ``"max"``.
        sample_ratio: how many samples a part has along each side, at least 1.
    """
    return _aligned(
        "roi_align_nchw", data, rois, pooled_size, spatial_scale, mode, sample_ratio, "NCHW"
    )


def roi_align_nhwc(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str | bytes = "avg",
    sample_ratio: int = 2,
) -> Tensor:
    """`roi_align_nchw` of images with channels last; so is the result."""
    return _aligned(
        "roi_align_nhwc", data, rois, pooled_size, spatial_scale, mode, sample_ratio, "NHWC"
    )


def _aligned(
    owner: str,
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str | bytes,
    sample_ratio: int,
    layout: str,
) -> Tensor:
    kind = mode.decode() if isinstance(mode, bytes) else mode
    if kind not in ("avg", "max"):
        raise ArgumentValueError(f'{owner}: `mode` is "avg" or "max", got {mode!r}')
    if sample_ratio < 1:
        raise ArgumentValueError(
            f"{owner}: `sample_ratio`, the number of samples of a part along each side, is at "
            f"least 1, got {sample_ratio}"
        )
    require_rank(owner, "data", data, layout)
    require_rank(owner, "rois", rois, "BX")
    require_equal(owner, "the numbers of a box, and 5", rois.shape[1], as_expr(5))
    if not data.dtype.is_float or rois.dtype is not data.dtype:
        raise DTypeError(
            f"{owner}: `data` and `rois` have one float dtype, got {data.dtype!s} and "
            f"{rois.dtype!s}"
        )
    axes = (layout.index("H"), layout.index("W"))
    if any(constant(data.shape[axis]) == 0 for axis in (0, *axes)):
        raise ArgumentValueError(f"{owner}: without pixels there are no samples")
    parts = per_dimension(owner, "pooled_size", pooled_size, 2)
    dtype = data.dtype
    steps = [te.reduce_axis((0, sample_ratio), name) for name in ("ry", "rx")]

    def at(box: Any, part: Any, n: int) -> Any:
        """Where a sample is along height (0) or width (1)."""
        first, last = (rois(box, corner - n) * spatial_scale for corner in (2, 4))
        size = tir.max(last - first, as_expr(1.0, dtype)) / float(parts[n])
        offset = (cast(dtype, steps[n].var) + 0.5) / float(sample_ratio)
        return first + (cast(dtype, part) + offset) * size

    def sample(box: Any, channel: Any, y: Any, x: Any) -> Any:
        image = tir.max(tir.min(cast("int64", rois(box, 0)), data.shape[0] - 1), 0)
        places, weights, outside = [], [], []
        for axis, place in zip(axes, (y, x), strict=True):
            extent = data.shape[axis]
            outside += [place < -1.0, place > cast(dtype, extent)]
            # Beyond the middle of the first or last pixel is the colour of that pixel.
            inside = tir.max(tir.min(place, cast(dtype, extent - 1)), as_expr(0.0, dtype))
            low = cast("int64", te.floor(inside))
            high = tir.min(low + 1, extent - 1)
            weight = inside - cast(dtype, low)
            places.append((low, high))
            weights.append((as_expr(1.0, dtype) - weight, weight))

        def pixel(row: int, column: int) -> Any:
            index: list[Any] = [image, channel, channel, channel]
            index[axes[0]], index[axes[1]] = places[0][row], places[1][column]
            return data(*index) * (weights[0][row] * weights[1][column])

        mixed = pixel(0, 0) + pixel(0, 1) + pixel(1, 0) + pixel(1, 1)
        return te.if_then_else(te.any(*outside), as_expr(0.0, dtype), mixed)

    def reduced(*place: Any) -> Any:
        box, channel = place[0], place[layout.index("C")]
        value = sample(
            box, channel, at(box, place[axes[0]], 0), at(box, place[axes[1]], 1)
        )  # fmt: skip
        if kind == "max":
            return te.max(value, axis=steps)
        return te.sum(value * (1.0 / sample_ratio**2), axis=steps)

    shape = list(data.shape)
    shape[0] = rois.shape[0]
    shape[axes[0]], shape[axes[1]] = (as_expr(n, data.shape[0].dtype) for n in parts)
    return te.compute(shape, reduced, owner, "pool")
