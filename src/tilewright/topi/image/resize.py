"""Images of another size.

A pixel of the result lies somewhere between the pixels of the image: `source` says where, and a
method gives the weights of the pixels around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tilewright import te, tir
from tilewright.error import ArgumentValueError, ShapeError, require_one_of
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import FLOAT32, FLOAT64, INT32, INT64, DType
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.operands import variant

COORDINATES: Final = (
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
)  # fmt: skip

ROUNDINGS: Final = ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")

LAYOUTS: Final = {
    "resize1d": ("NCW", "NWC"),
    "resize2d": ("NCHW", "NHWC"),
    "resize3d": ("NCDHW", "NDHWC"),
}

METHODS: Final = ("nearest_neighbor", "linear", "cubic")


def resize2d(
    data: Tensor,
    roi: Sequence[float] | None,
    size: Sequence[Any],
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
    output_shape: Any = None,
) -> Tensor:
    """Images of height and width `size`.

    Args:
        data: the images.
        roi: the part to be enlarged; only all of the image, zeros, is supported.
        size: height and width of the result.
        layout: ``"NCHW"`` or ``"NHWC"``.
        method: ``"nearest_neighbor"``, ``"linear"`` or ``"cubic"``.
        coordinate_transformation_mode: where a pixel of the result is in the image:
            ``"half_pixel"``, the centres of pixels being half-way between their borders,
            ``"align_corners"``, ``"asymmetric"``, ``"pytorch_half_pixel"`` or
            ``"tf_half_pixel_for_nn"``.
        rounding_method: which neighbour is the nearest: ``"round"``, ``"round_prefer_floor"``,
            ``"round_prefer_ceil"``, ``"floor"`` or ``"ceil"``; by default the first, and the
            third where corners are aligned.
        bicubic_alpha: the parameter of the cubic kernel.
        bicubic_exclude: whether pixels outside of the image have no weight.
        extrapolation_value: not used without `roi`.
        out_dtype: of the result; by default that of `data`.
        output_shape: the same as `size`, if given.
    """
    return _resized(
        "resize2d", data, roi, size, layout, method, coordinate_transformation_mode,
        rounding_method, bicubic_alpha, bicubic_exclude, extrapolation_value, out_dtype,
        output_shape,
    )  # fmt: skip


def _resized(
    owner: str,
    data: Tensor,
    roi: Sequence[float] | None,
    size: Any,
    layout: str,
    method: str,
    mode: str,
    rounding_method: str,
    alpha: float,
    exclude: int,
    _: float,
    out_dtype: str | None,
    output_shape: Any,
) -> Tensor:
    """Arrays of another size along their spatial dimensions; see `resize2d`."""
    size = output_shape or size
    if roi is not None and any(not isinstance(x, (int, float)) or x != 0 for x in roi):
        raise ArgumentValueError(f"{owner}: a region of interest, `roi`, is not supported")
    rounding = rounding_method or ("round_prefer_ceil" if mode == "align_corners" else "round")
    for name, value, known in (
        ("layout", layout, LAYOUTS[owner]),
        ("method", method, METHODS),
        ("coordinate_transformation_mode", mode, COORDINATES),
        ("rounding_method", rounding, ROUNDINGS),
    ):
        require_one_of(f"{owner}: `{name}`", value, known)
    if data.ndim != len(layout):
        raise ShapeError(
            f"{owner}: `data` has the layout {layout}, so {len(layout)} dimensions, not {data.ndim}"
        )
    axes = [layout.index(letter) for letter in "DHW" if letter in layout]
    extents = [as_expr(extent) for extent in (size if isinstance(size, (tuple, list)) else [size])]
    if len(extents) != len(axes):
        raise ArgumentValueError(
            f"{owner}: `size` has a number for each of {layout}'s {len(axes)} spatial dimensions, "
            f"got {size!r}"
        )
    dtype = DType(out_dtype) if out_dtype else data.dtype
    wide = FLOAT64 if data.dtype is FLOAT64 else FLOAT32
    shape = list(data.shape)
    for axis, extent in zip(axes, extents, strict=True):
        shape[axis] = cast(data.shape[axis].dtype, extent)

    nearest = method == "nearest_neighbor"
    kept = data.dtype if nearest else wide

    def along(axis: int, image: Tensor, dtype: DType) -> Tensor:
        """The array with the new extent of one dimension."""
        limit = image.shape[axis]

        def element(*place: Any) -> Any:
            def pixel(index: Any) -> Any:
                return image(*place[:axis], index, *place[axis + 1 :])

            at = source(mode, place[axis], limit, shape[axis], wide)
            if nearest:
                return cast(dtype, pixel(clamped(index_of(_rounded(rounding, at)), limit)))
            mixture = (
                _linear(at, limit)
                if method == "linear"
                else _cubic(at, limit, alpha, bool(exclude))
            )
            value = mixture.of([cast(wide, pixel(index)) for index in mixture.pixels])
            return cast(dtype, value if dtype.is_float else te.round(value))

        extents = [*image.shape[:axis], shape[axis], *image.shape[axis + 1 :]]
        return te.compute(extents, element, "resize", "injective")

    # One dimension after another, as rows that are made once are part of several results; the
    # innermost first, because the others then mix whole rows.
    first, *others = axes
    image = data
    for axis in reversed(others):
        image = along(axis, image, kept)
    return along(first, image, dtype)


resize1d = variant(
    resize2d,
    "resize1d",
    """Sequences of width `size`, in the layout ``"NCW"`` or ``"NWC"``; see `resize2d`.""",
    _resized,
    layout="NCW",
)


resize3d = variant(
    resize2d,
    "resize3d",
    """Volumes of depth, height and width `size`, in the layout ``"NCDHW"`` or ``"NDHWC"``.

    See `resize2d` for the arguments.
    """,
    _resized,
    layout="NCDHW",
)


def source(mode: str, index: Any, extent: Any, size: Any, dtype: DType = FLOAT32) -> Expr:
    """Where pixel `index` of `size` is among `extent` pixels, in the float type `dtype`."""
    old, new = (cast(dtype, as_expr(x)) for x in (extent, size))
    place = cast(dtype, cast(_integers(dtype), as_expr(index)))
    if mode == "align_corners":
        steps = tir.Select(new > 1.0, new - 1.0, as_expr(1.0, dtype))
        return tir.Select(new > 1.0, place * ((old - 1.0) / steps), as_expr(0.0, dtype))
    scale = old / new
    if mode == "asymmetric":
        return place * scale
    if mode == "tf_half_pixel_for_nn":
        return (place + 0.5) * scale
    centre = (place + 0.5) * scale - 0.5
    if mode == "pytorch_half_pixel":
        return tir.Select(new > 1.0, centre, as_expr(0.0, dtype))
    return centre


def _rounded(rounding: str, at: Expr) -> Expr:
    """The nearest pixel; small errors of the multiplication must not move it."""
    if rounding in ("round", "round_prefer_floor"):
        whole = te.ceil(at - 0.5)
    elif rounding == "round_prefer_ceil":
        whole = te.floor(at + 0.5)
    else:
        epsilon = 1e-5
        whole = te.floor(at + epsilon) if rounding == "floor" else te.ceil(at - epsilon)
    return whole


def index_of(whole: Expr) -> Expr:
    """A whole number as an index, perhaps outside of the image."""
    return cast(_integers(whole.dtype), whole)


def _integers(positions: DType) -> DType:
    """The type of indices where positions have a float type.

    Processors convert vectors of short integers, and gather by them. Longer ones are for numbers
    that are exact beyond them.
    """
    return INT64 if positions is FLOAT64 else INT32


def clamped(index: Expr, extent: Expr) -> Expr:
    """The pixel at `index`, or the nearest one where there is none."""
    last = cast(index.dtype, extent - 1)
    return cast(extent.dtype, tir.max(tir.min(index, last), as_expr(0, index.dtype)))


class _Mixture(NamedTuple):
    """The pixels along a dimension that a pixel is made of.

    Pixels of weight 0 do not count: they may be infinite, or not a number.

    Attributes:
        pixels: their positions.
        weights: what each is multiplied by.
        nearest: which of them has the weight 1 where the result lies on a pixel.
        part: how far the result is from that pixel.
        counts: for each pixel the condition that it counts; None for all.
    """

    pixels: list[Any]
    weights: list[Any]
    nearest: int
    part: Expr
    counts: list[Any] | None = None

    def of(self, values: Sequence[Any]) -> Any:
        """The sum of the pixels' values by their weights."""
        terms = [weight * value for weight, value in zip(self.weights, values, strict=True)]
        if self.counts is not None:
            zero = as_expr(0.0, self.part.dtype)
            terms = [tir.Select(c, t, zero) for c, t in zip(self.counts, terms, strict=True)]
        return tir.Select(self.part.equal(0.0), values[self.nearest], _sum(terms))


def _linear(at: Expr, extent: Expr) -> _Mixture:
    """The two pixels around."""
    below = te.floor(at)
    part = at - below
    first = index_of(below)
    pixels = [clamped(first, extent), clamped(first + 1, extent)]
    return _Mixture(pixels, [as_expr(1.0, at.dtype) - part, part], 0, part)


def _cubic(at: Expr, extent: Expr, alpha: float, exclude: bool) -> _Mixture:
    """The four pixels around."""
    below = te.floor(at)
    t = at - below
    first = index_of(below)
    a = as_expr(alpha, at.dtype)
    weights = [
        ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a,
        ((a + 2) * t - (a + 3)) * t * t + 1,
        ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1,
        ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a,
    ]
    places = [first + (n - 1) for n in range(4)]
    pixels, counts = [clamped(place, extent) for place in places], None
    if exclude:
        zero = as_expr(0.0, at.dtype)
        counts = [te.all(place >= 0, place < cast(place.dtype, extent)) for place in places]
        total = _sum([tir.Select(c, w, zero) for c, w in zip(counts, weights, strict=True)])
        weights = [weight / total for weight in weights]
    return _Mixture(pixels, weights, 1, t, counts)


def _sum(terms: Sequence[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
