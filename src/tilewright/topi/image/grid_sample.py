"""Images at places that another array says."""

from __future__ import annotations

from typing import Any, Final

from tilewright import te, tir
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.image.resize import clamped

SAMPLING_METHODS: Final = ("nearest", "bilinear")

PADDING_MODES: Final = ("zeros", "border")


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
) -> Tensor:
    """The pixels of images at the places of a grid.

    Args:
        data: images ``(batch, channel, height, width)``.
        grid: ``(batch, 2, height, width)``: x and y of each pixel of the result, from -1 at one
            border of the image to 1 at the other.
        method: ``"bilinear"``, or ``"nearest"``.
        layout: ``"NCHW"``.
        padding_mode: values around the image: ``"zeros"``, or its ``"border"``.
        align_corners: whether the borders are the centres of the outermost pixels.
    """
    for name, value, known in (
        ("method", method, SAMPLING_METHODS), ("layout", layout, ("NCHW",)),
        ("padding_mode", padding_mode, PADDING_MODES),
    ):  # fmt: skip
        if value not in known:
            raise ArgumentValueError(
                f"grid_sample: `{name}` is one of {', '.join(known)}, got {value!r}"
            )
    if len(data.shape) != 4 or len(grid.shape) != 4:
        raise ShapeError("grid_sample: images and the grid have 4 dimensions")
    batch, channels, *extents = data.shape

    def pixel(n: Any, c: Any, y: Expr, x: Expr) -> Expr:
        inside = tir.all(y >= 0, y < extents[0], x >= 0, x < extents[1])
        value = data(n, c, *(clamped(i, e) for i, e in zip((y, x), extents, strict=True)))
        return (
            value
            if padding_mode == "border"
            else tir.Select(inside, value, as_expr(0, value.dtype))
        )

    def element(n: Any, c: Any, row: Any, column: Any) -> Expr:
        places = [
            _place(grid(n, 1 - axis, row, column), extent, align_corners, padding_mode)
            for axis, extent in enumerate(extents)
        ]
        if method == "nearest":
            whole = [te.round(place) for place in places]
            y, x = (cast(e.dtype, w) for w, e in zip(whole, extents, strict=True))
            return pixel(n, c, y, x)
        low = [te.floor(place) for place in places]
        parts = [place - below for place, below in zip(places, low, strict=True)]
        y, x = (cast(e.dtype, below) for below, e in zip(low, extents, strict=True))
        return _blend(
            _blend(pixel(n, c, y, x), pixel(n, c, y, x + 1), parts[1]),
            _blend(pixel(n, c, y + 1, x), pixel(n, c, y + 1, x + 1), parts[1]),
            parts[0],
        )

    return te.compute((batch, channels, *grid.shape[2:]), element, "grid_sample", "injective")


def _place(at: Expr, extent: Expr, align_corners: bool, padding_mode: str) -> Expr:
    """Where a coordinate from -1 to 1 is among `extent` pixels."""
    size = cast(at.dtype, extent)
    place = (at + 1) * 0.5 * (size - 1) if align_corners else ((at + 1) * size - 1) * 0.5
    # A place far outside, or none at all, must still be a number that integers can be.
    lowest = as_expr(0.0 if padding_mode == "border" else -2.0, at.dtype)
    highest = size - 1 if padding_mode == "border" else size + 1
    return tir.Select(place > lowest, tir.Select(place < highest, place, highest), lowest)


def _blend(first: Expr, second: Expr, part: Expr) -> Expr:
    """Both by their weights; one of weight 0 does not count, it may be infinite."""
    share = cast(first.dtype, part)
    return tir.Select(part.equal(0.0), first, first * (1 - share) + second * share)
