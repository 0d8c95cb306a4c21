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
        inside = tir.all(
            *(
                condition
                for i, e in zip(index, extents, strict=True)
                for condition in (i >= 0, i < cast(i.dtype, e))
            )
        )
        value = data(n, c, *(clamped(i, e) for i, e in zip(index, extents, strict=True)))
        if padding_mode != "zeros":
            return value
        return tir.Select(inside, value, as_expr(0, value.dtype))

    def places(n: Any, where: Sequence[Any]) -> list[Expr]:
        found = []
        for axis, extent in enumerate(extents):
            at = _place(grid(n, rank - 1 - axis, *where), extent, align_corners)
            if method != "bicubic":
                at = _padded(at, extent, padding_mode, align_corners)
            found.append(_within(at, extent))
        return found

    def element(n: Any, c: Any, *where: Any) -> Expr:
        at = places(n, where)
        if method == "nearest":
            return pixel(n, c, [index_of(te.round(p)) for p in at])
        if method == "bicubic":
            return cubic(n, c, at)
        low = [te.floor(place) for place in at]
        parts = [place - below for place, below in zip(at, low, strict=True)]
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

    def cubic(n: Any, c: Any, at: Sequence[Expr]) -> Expr:
        low = [te.floor(place) for place in at]
        weights = [_cubic_weights(p - b, cubic_alpha) for p, b in zip(at, low, strict=True)]

        def column(step: int) -> list[Expr]:
            """The pixels before and behind a place along each dimension."""
            moved = [below + float(step - 1) for below in low]
            return [
                index_of(_within(_padded(m, e, padding_mode, align_corners), e))
                for m, e in zip(moved, extents, strict=True)
            ]

        taps = [column(step) for step in range(4)]
        total: Any = None
        for down, right in itertools.product(range(4), repeat=2):
            value = pixel(n, c, [taps[down][0], taps[right][1]])
            term = value * cast(value.dtype, weights[0][down] * weights[1][right])
            total = term if total is None else total + term
        return total

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


def _cubic_weights(t: Expr, alpha: float) -> list[Expr]:
    """The weights of the four pixels around, the second of which is `t` before the place."""
    a = as_expr(alpha, t.dtype)

    def outer(x: Expr) -> Expr:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    def inner(x: Expr) -> Expr:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]
