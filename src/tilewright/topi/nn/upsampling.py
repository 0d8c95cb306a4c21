"""Enlarging images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.ir.convert import cast
from tilewright.te import Tensor
from tilewright.topi.image import resize2d, resize3d
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import simplified, spatial_axes

METHODS = {
    2: {"nearest_neighbor": "nearest_neighbor", "bilinear": "linear", "bicubic": "cubic"},
    3: {"nearest_neighbor": "nearest_neighbor", "trilinear": "linear"},
}
"""What methods are called by the number of spatial dimensions, and what `resize2d` calls them."""


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
    return _upsampled(
        "upsampling", resize2d, data, (scale_h, scale_w), layout, method,
        "align_corners" if align_corners else "asymmetric", output_shape,
    )  # fmt: skip


def upsampling3d(
    data: Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Any = None,
) -> Tensor:
    """Volumes enlarged by factors.

    Args:
        data: the volumes.
        scale_d: the factor of the depth.
        scale_h: the factor of the height.
        scale_w: the factor of the width.
        layout: ``"NCDHW"`` or ``"NDHWC"``.
        method: ``"nearest_neighbor"`` or ``"trilinear"``.
        coordinate_transformation_mode: see `tilewright.topi.image.resize2d`.
        output_shape: depth, height and width of the result, if they are known better.
    """
    return _upsampled(
        "upsampling3d", resize3d, data, (scale_d, scale_h, scale_w), layout, method,
        coordinate_transformation_mode, output_shape,
    )  # fmt: skip


def _upsampled(
    owner: str, resize: Callable[..., Tensor], data: Tensor, scales: Sequence[float], layout: str,
    method: str, mode: str, output_shape: Any,
) -> Tensor:  # fmt: skip
    known = METHODS[len(scales)]
    if method not in known:
        raise ArgumentValueError(f"{owner}: `method` is one of {', '.join(known)}, got {method!r}")
    require_rank(owner, "data", data, layout)
    size = output_shape or [
        _scaled(data.shape[axis], scale)
        for axis, scale in zip(spatial_axes(layout), scales, strict=True)
    ]
    is_floor = method == "nearest_neighbor" and mode == "asymmetric"
    return resize(data, None, size, layout, known[method], mode, "floor" if is_floor else "")


def _scaled(extent: Any, scale: float) -> Any:
    if float(scale).is_integer():
        return simplified(extent * int(scale))
    return cast(extent.dtype, cast("float32", extent) * float(scale) + 0.5)
