"""Images at places that another array says."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from tilewright import te, tir
from tilewright.error import ArgumentValueError, ShapeError, require_one_of
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.image.resize import clamped, index_of

SAMPLING_METHODS: Final = ("nearest", "bilinear", "bicubic")

PADDING_MODES: Final = ("zeros", "border", "reflection")

LAYOUTS: Final = {"NCHW": 2, "NCDHW": 3}
"""Layouts, and the number of their spatial dimensions."""


CUBIC_TAPS: Final = 4
"""How many pixels along each dimension a cubic kernel mixes."""


def grid_sample(
    data: Tensor,
    grid: Tensor,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    cubic_alpha: float = -0.75,
) -> Tensor:
    """The pixels of images, or of volumes, at the places of a grid.

    Args:
        data: images ``(batch, channel, height, width)``, or volumes with a depth before the height.
        grid: ``(batch, 2, height, width)``: x and y of each pixel of the result, from -1 at one
            border of the image to 1 at the other; of volumes x, y and z.
        method: ``"bilinear"``, ``"nearest"``, or ``"bicubic"``, which is for images.
        layout: ``"NCHW"`` or ``"NCDHW"``.
        padding_mode: values around the image: ``"zeros"``, its ``"border"``, or its mirror image,
            ``"reflection"``.
        align_corners: whether the borders are the centres of the outermost pixels.
        cubic_alpha: the parameter of the cubic kernel.
    """
    for name, value, known in (
        ("method", method, SAMPLING_METHODS), ("layout", layout, tuple(LAYOUTS)),
        ("padding_mode", padding_mode, PADDING_MODES),
    ):  # fmt: skip
        require_one_of(f"grid_sample: `{name}`", value, known)
    rank = LAYOUTS[layout]
    if method == "bicubic" and rank != 2:
        raise ArgumentValueError("grid_sample: the method 'bicubic' is for images")
    if len(data.shape) != rank + 2 or len(grid.shape) != rank + 2:
        raise ShapeError(f"grid_sample: images and the grid have {rank + 2} dimensions")
    batch, channels, *extents = data.shape

    def pixel(n: Any, c: Any, index: Sequence[Expr]) -> Expr:
        nearest = [clamped(i, e) for i, e in zip(index, extents, strict=True)]
        value = data(n, c, *nearest)
        if padding_mode == "zeros":
            for i, inside in zip(index, nearest, strict=True):
                is_inside = cast(inside.dtype, i).equal(inside)
                value = tir.Select(is_inside, value, as_expr(0, value.dtype))
        return value

    def place(n: Any, axis: int, where: Sequence[Any]) -> Expr:
        extent = extents[axis]
        at = _place(grid(n, rank - 1 - axis, *where), extent, align_corners)
        if method != "bicubic":
            at = _padded(at, extent, padding_mode, align_corners)
        return _within(at, extent)

    def element(n: Any, c: Any, *where: Any) -> Expr:
        if method == "bicubic":
            return cubic(n, c, where)
        at = [place(n, axis, where) for axis in range(rank)]
        if method == "nearest":
            return pixel(n, c, [index_of(te.round(p)) for p in at])
        low = [te.floor(p) for p in at]
        parts = [p - below for p, below in zip(at, low, strict=True)]
        index = [index_of(below) for below in low]
        corners = {
            steps: pixel(n, c, [i + step for i, step in zip(index, steps, strict=True)])
            for steps in itertools.product((0, 1), repeat=rank)
        }
        for axis in reversed(range(rank)):
            corners = {
                steps: _blend(corners[(*steps, 0)], corners[(*steps, 1)], parts[axis])
                for steps in itertools.product((0, 1), repeat=axis)
            }
        return corners[()]

    def cubic(n: Any, c: Any, where: Sequence[Any]) -> Expr:
        total: Any = None
        for steps in itertools.product(range(CUBIC_TAPS), repeat=rank):
            index = [taps[axis](n, step, *where) for axis, step in enumerate(steps)]
            down, right = (weights[axis](n, step, *where) for axis, step in enumerate(steps))
            value = pixel(n, c, index)
            term = value * cast(value.dtype, down * right)
            total = term if total is None else total + term
        return total

    if method == "bicubic":
        # Computed once for all channels, and read again and again.
        per_tap = (batch, CUBIC_TAPS, *grid.shape[2:])
        taps, weights = [], []
        for axis, extent in enumerate(extents):

            def tap(
                n: Any, step: Any, *where: Any, axis: int = axis, extent: Expr = extent
            ) -> Expr:
                below = te.floor(place(n, axis, where))
                moved = below + cast(below.dtype, step - 1)
                return index_of(
                    _within(_padded(moved, extent, padding_mode, align_corners), extent)
                )

            def weight(n: Any, step: Any, *where: Any, axis: int = axis) -> Expr:
                at = place(n, axis, where)
                distance = tir.abs(at - te.floor(at) - cast(at.dtype, step - 1))
                return _cubic_weight(distance, cubic_alpha)

            taps.append(te.compute(per_tap, tap, "tap"))
            weights.append(te.compute(per_tap, weight, "weight"))

    return te.compute((batch, channels, *grid.shape[2:]), element, "grid_sample", "injective")


def _place(at: Expr, extent: Expr, align_corners: bool) -> Expr:
    """Where a coordinate from -1 to 1 is among `extent` pixels."""
    size = cast(at.dtype, extent)
    return (at + 1) * 0.5 * (size - 1) if align_corners else ((at + 1) * size - 1) * 0.5


def _padded(at: Expr, extent: Expr, mode: str, align_corners: bool) -> Expr:
    """The place in the image that stands for one outside of it."""
    size = cast(at.dtype, extent)
    zero = as_expr(0.0, at.dtype)
    if mode == "zeros":
        return at
    if mode == "reflection":
        # The image and its mirror image again and again, each between two borders.
        low = zero if align_corners else as_expr(-0.5, at.dtype)
        span = size - 1 if align_corners else size
        whole = tir.Select(span > 0.0, span, as_expr(1.0, at.dtype))
        distance = tir.abs(at - low)
        times = te.floor(distance / whole)
        rest = distance - times * whole
        is_even = (times - te.floor(times * 0.5) * 2.0).equal(0.0)
        mirrored = tir.Select(is_even, rest, span - rest) + low
        at = tir.Select(span > 0.0, mirrored, zero)
    return tir.Select(at > 0.0, tir.Select(at < size - 1, at, size - 1), zero)


def _within(at: Expr, extent: Expr) -> Expr:
    """A place far outside, or none at all, as a number that integers can be."""
    lowest, highest = as_expr(-3.0, at.dtype), cast(at.dtype, extent) + 2
    return tir.Select(at > lowest, tir.Select(at < highest, at, highest), lowest)


def _blend(first: Expr, second: Expr, part: Expr) -> Expr:
    """Both by their weights; one of weight 0 does not count, it may be infinite."""
    share = cast(first.dtype, part)
    return tir.Select(part.equal(0.0), first, first * (1 - share) + second * share)


def _cubic_weight(distance: Expr, alpha: float) -> Expr:
    """The weight of a pixel that is less than two pixels away."""
    a, x = as_expr(alpha, distance.dtype), distance
    outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    inner = ((a + 2) * x - (a + 3)) * x * x + 1
    return tir.Select(x > 1, outer, inner)
