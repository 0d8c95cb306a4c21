"""Enlarging images."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.ir.convert import cast
from tilewright.te import Tensor
from tilewright.topi.image import resize2d
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import simplified

METHODS = {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"}


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Any = None,
) -> Tensor:
    """Images enlarged by factors.

    Args:
        data: the images.
        scale_h: the factor of the height.
        scale_w: the factor of the width.
        layout: ``"NCHW"`` or ``"NHWC"``.
        method: ``"nearest_neighbor"``, ``"bilinear"`` or ``"bicubic"``.
        align_corners: whether the corners of the images stay where they are.
        output_shape: height and width of the result, if they are known better.
    """
    if method not in METHODS:
        raise ArgumentValueError(
            f"upsampling: `method` is one of {', '.join(METHODS)}, got {method!r}"
        )
    require_rank("upsampling", "data", data, layout)
    size = output_shape or [
        _scaled(data.shape[layout.index(letter)], scale)
        for letter, scale in (("H", scale_h), ("W", scale_w))
    ]
    return resize2d(
        data, (0.0, 0.0, 0.0, 0.0), size, layout, METHODS[method],
        "align_corners" if align_corners else "asymmetric",
        "floor" if method == "nearest_neighbor" and not align_corners else "",
    )  # fmt: skip


def _scaled(extent: Any, scale: float) -> Any:
    if float(scale).is_integer():
        return simplified(extent * int(scale))
    return cast(extent.dtype, cast("float32", extent) * float(scale) + 0.5)
