"""Images of another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.expr import IntImm
from tilewright.relax import op
from tilewright.relax.frontend.nn.op.operator import tensor_operator

_METHODS: Final = {"nearest": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}


@tensor_operator
def interpolate(
    x: Any, size: int | Sequence[Any] | None = None,
    scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool | None = None, data_layout: str = "NCHW",
) -> Any:  # fmt: skip
    """Images of another size, as ``torch.nn.functional.interpolate`` computes them.

    Args:
        x: the images, with two dimensions beside batch and channels.
        size: the height and width, or one number for both.
        scale_factor: instead of `size`, factors of the height and width, or one for both.
        mode: ``"nearest"``, ``"bilinear"`` or ``"bicubic"``.
        align_corners: whether the middles of the pixels in the corners stay where they are.
        recompute_scale_factor: must be None or False.
        antialias: must be None or False.
        data_layout: the order of the dimensions.
    """
    if recompute_scale_factor or antialias:
        raise ArgumentError(
            "nn.op.interpolate: recompute_scale_factor and antialias are not supported"
        )
    if mode not in _METHODS:
        raise ArgumentValueError(
            f"nn.op.interpolate: mode is one of {', '.join(_METHODS)}, got {mode!r}"
        )
    if (size is None) == (scale_factor is None):
        raise ArgumentError("nn.op.interpolate: give either size or scale_factor")
    if scale_factor is not None:
        size = _scaled(x, scale_factor, data_layout)
    coordinates = "align_corners" if align_corners else "half_pixel"
    return op.image.resize2d(
        x, size, layout=data_layout, method=_METHODS[mode],
        coordinate_transformation_mode="asymmetric" if mode == "nearest" else coordinates,
        rounding_method="floor" if mode == "nearest" else "round", cubic_alpha=-0.75,
    )  # fmt: skip


def _scaled(x: Any, factors: Any, layout: str) -> list[Any]:
    """The height and width times factors, rounded down."""
    given = list(factors) if isinstance(factors, (list, tuple)) else [factors, factors]
    sizes = []
    for axis, factor in zip("HW", given, strict=True):
        extent = x.struct_info.extents[layout.index(axis)]
        if isinstance(extent, IntImm):
            sizes.append(int(extent.value * factor))
        elif factor == int(factor):
            sizes.append(extent * int(factor))
        else:
            raise ArgumentValueError(
                f"nn.op.interpolate: the extent {extent!r} is symbolic, so its factor has to be a "
                f"whole number, got {factor}; give size"
            )
    return sizes
