"""Parts of images in a size of their own (K. He et al., "Mask R-CNN", 2017)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentValueError, DTypeError, require_one_of
from tilewright.ir.convert import as_expr, cast
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import constant, per_dimension, require_equal
from tilewright.topi.operands import variant


def roi_align_nchw(
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str | bytes = "avg",
    sample_ratio: int = 2,
    aligned: bool = False,
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
        aligned: whether coordinates are those of the borders of pixels, whose centres lie half a
            pixel further; a box is not enlarged to the size of a pixel then.
    """
    return _aligned(
        "roi_align_nchw", data, rois, pooled_size, spatial_scale, mode, sample_ratio, aligned,
        "NCHW",
    )  # fmt: skip


def _aligned(
    owner: str,
    data: Tensor,
    rois: Tensor,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    mode: str | bytes,
    sample_ratio: int,
    aligned: bool = False,
    layout: str = "NHWC",
) -> Tensor:
    kind = mode.decode() if isinstance(mode, bytes) else mode
    require_one_of(f"{owner}: `mode`", kind, ("avg", "max"))
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
    steps = [te.reduce_axis((0, sample_ratio), name) for name in ("ry", "rx")]

    rows, columns = (
        _samples(rois, n, data.shape[axis], parts[n], sample_ratio, spatial_scale, aligned)
        for n, axis in enumerate(axes)
    )
    images = te.compute(
        (rois.shape[0],),
        lambda box: tir.max(tir.min(cast("int64", rois(box, 0)), data.shape[0] - 1), 0),
        "T_image",
    )

    def sample(box: Any, channel: Any, row: Any, column: Any) -> Any:
        ry, rx = (step.var for step in steps)

        def pixel(y: Tensor, of_y: Tensor, x: Tensor, of_x: Tensor) -> Any:
            index: list[Any] = [images(box), channel, channel, channel]
            index[axes[0]], index[axes[1]] = y(box, row, ry), x(box, column, rx)
            weight = of_y(box, row, ry) * of_x(box, column, rx)
            # A pixel of weight 0 does not count: it may be infinite.
            return tir.Select(weight.equal(0.0), as_expr(0, data.dtype), data(*index) * weight)

        pixels = [pixel(*y, *x) for y in (rows[:2], rows[2:]) for x in (columns[:2], columns[2:])]
        return pixels[0] + pixels[1] + pixels[2] + pixels[3]

    def reduced(*place: Any) -> Any:
        box, channel = place[0], place[layout.index("C")]
        value = sample(box, channel, place[axes[0]], place[axes[1]])
        if kind == "max":
            return te.max(value, axis=steps)
        return te.sum(value * (1.0 / sample_ratio**2), axis=steps)

    shape = list(data.shape)
    shape[0] = rois.shape[0]
    shape[axes[0]], shape[axes[1]] = (as_expr(n, data.shape[0].dtype) for n in parts)
    return te.compute(shape, reduced, owner, "pool")


roi_align_nhwc = variant(
    roi_align_nchw,
    "roi_align_nhwc",
    """`roi_align_nchw` of images with channels last; so is the result.""",
    functools.partial(_aligned, layout="NHWC"),
)


def _samples(
    rois: Tensor, n: int, extent: Any, parts: int, ratio: int, scale: float, aligned: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two pixels around each sample along height (0) or width (1), and their weights.

    Computed once for all channels: ``(boxes, parts, ratio)``.
    """
    dtype = rois.dtype
    shape = (rois.shape[0], as_expr(parts, rois.shape[0].dtype), as_expr(ratio, "int32"))

    def place(box: Any, part: Any, step: Any) -> Any:
        offset = 0.5 if aligned else 0.0
        first, last = (rois(box, corner - n) * scale - offset for corner in (2, 4))
        extent = last - first if aligned else tir.max(last - first, as_expr(1.0, dtype))
        size = extent / float(parts)
        return first + (cast(dtype, part) + (cast(dtype, step) + 0.5) / float(ratio)) * size

    at = te.compute(shape, place, "T_place")

    def inside(*i: Any) -> Any:
        """Beyond the middle of the first or last pixel is the colour of that pixel."""
        return tir.max(tir.min(at(*i), cast(dtype, extent - 1)), as_expr(0.0, dtype))

    low = te.compute(shape, lambda *i: cast("int64", te.floor(inside(*i))), "T_low")
    high = te.compute(shape, lambda *i: tir.min(low(*i) + 1, extent - 1), "T_high")

    def weight(*i: Any) -> Any:
        return inside(*i) - cast(dtype, low(*i))

    def if_near(value: Any, *i: Any) -> Any:
        far = te.any(at(*i) < -1.0, at(*i) > cast(dtype, extent))
        return tir.Select(far, as_expr(0.0, dtype), value)

    of_low = te.compute(shape, lambda *i: if_near(1.0 - weight(*i), *i), "T_of_low")
    of_high = te.compute(shape, lambda *i: if_near(weight(*i), *i), "T_of_high")
    return low, of_low, high, of_high
