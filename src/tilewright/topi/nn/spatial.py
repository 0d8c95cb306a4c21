"""Images of other sizes: enlarged, or in exchange for channels or elements of the batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentError, require_one_of
from tilewright.ir.convert import cast
from tilewright.te import Tensor
from tilewright.topi.image import resize2d, resize3d
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.pad import pad
from tilewright.topi.nn.window import constant, require_equal, simplified, spatial_axes


def space_to_batch_nd(
    data: Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[Any],
    pad_after: Sequence[Any],
    pad_value: float = 0.0,
) -> Tensor:
    """Strided elements as images of their own: blocks of elements become the batch.

    Args:
        data: ``(batch, spatial dimensions, other dimensions)``.
        block_shape: the extents of a block.
        pad_before: how many elements are added before each spatial dimension.
        pad_after: how many after each.
        pad_value: the value of the new elements.

    Returns:
        ``(product of block_shape * batch, spatial dimensions / block_shape, other dimensions)``.
    """
    block = _checked("space_to_batch_nd", data, block_shape, pad_before, pad_after)
    rest = [0] * (data.ndim - 1 - len(block))
    padded = pad(data, [0, *pad_before, *rest], [0, *pad_after, *rest], pad_value)
    shape = list(padded.shape)
    shape[0] = simplified(shape[0] * math.prod(block))
    for n, size in enumerate(block, 1):
        require_equal(
            "space_to_batch_nd", f"dimension {n} modulo {size}, and 0",
            simplified(shape[n] % size), simplified(shape[n] * 0),
        )  # fmt: skip
        shape[n] = simplified(shape[n] // size)

    def element(image: Any, *place: Any) -> Any:
        index, number = list(place), image // data.shape[0]
        for n in reversed(range(len(block))):
            index[n] = place[n] * block[n] + number % block[n]
            number = number // block[n]
        return padded(image % data.shape[0], *index)

    return te.compute(shape, element, "space_to_batch_nd", "injective")


def batch_to_space_nd(
    data: Tensor,
    block_shape: Sequence[int],
    crop_begin_list: Sequence[Any],
    crop_end_list: Sequence[Any],
) -> Tensor:
    """The images of a batch as elements of blocks: what `space_to_batch_nd` undoes.

    Args:
        data: ``(product of block_shape * batch, spatial dimensions, other dimensions)``.
        block_shape: the extents of a block.
        crop_begin_list: how many elements are cut off before each spatial dimension.
        crop_end_list: how many after each.
    """
    owner = "batch_to_space_nd"
    block = _checked(owner, data, block_shape, crop_begin_list, crop_end_list)
    count = math.prod(block)
    require_equal(
        owner, f"the batch modulo {count}, and 0", simplified(data.shape[0] % count),
        simplified(data.shape[0] * 0),
    )  # fmt: skip
    shape = list(data.shape)
    batch = shape[0] = simplified(data.shape[0] // count)
    for n, (size, low, high) in enumerate(
        zip(block, crop_begin_list, crop_end_list, strict=True), 1
    ):
        shape[n] = simplified(shape[n] * size - low - high)

    def element(image: Any, *place: Any) -> Any:
        index, number = list(place), 0
        for n, (size, low) in enumerate(zip(block, crop_begin_list, strict=True)):
            inner = place[n] + low
            index[n] = inner // size
            number = number * size + inner % size
        return data(number * batch + image, *index)

    return te.compute(shape, element, owner, "injective")


def _checked(
    owner: str,
    data: Tensor,
    block_shape: Sequence[int],
    before: Sequence[Any],
    after: Sequence[Any],
) -> list[int]:
    block = [constant(size) for size in block_shape]
    known = [size for size in block if size is not None and size >= 1]
    if len(known) != len(block) or len(block) >= data.ndim:
        raise ArgumentError(
            f"{owner}: `block_shape` has a positive integer for each spatial dimension of "
            f"{data.ndim - 1} at most, got {block_shape!r}"
        )
    if not len(before) == len(after) == len(block):
        raise ArgumentError(
            f"{owner}: {len(before)} and {len(after)} numbers for the ends of {len(block)} "
            "spatial dimensions"
        )
    return known


def depth_to_space(
    data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR"
) -> Tensor:
    """Groups of ``block_size ** 2`` channels as squares of pixels.

    Args:
        data: the images.
        block_size: the side of a square.
        layout: ``"NCHW"`` or ``"NHWC"``.
        mode: ``"DCR"`` if the pixel varies slower than the rest of the channel, else ``"CRD"``.
    """
    require_one_of("depth_to_space: `mode`", mode, ("DCR", "CRD"))
    c, h, w = _axes("depth_to_space", data, layout)
    square = block_size * block_size
    _require_multiple("depth_to_space", data, c, square)
    shape = list(data.shape)
    channels = shape[c] = simplified(data.shape[c] // square)
    shape[h], shape[w] = (simplified(data.shape[axis] * block_size) for axis in (h, w))

    def element(*i: Any) -> Any:
        index = list(i)
        index[h], index[w] = i[h] // block_size, i[w] // block_size
        pixel = (i[h] % block_size) * block_size + i[w] % block_size
        index[c] = pixel * channels + i[c] if mode == "DCR" else i[c] * square + pixel
        return data(*index)

    return te.compute(shape, element, "depth_to_space", "injective")


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Squares of pixels as channels: what `depth_to_space` with the mode ``"DCR"`` undoes.

    Args:
        data: the images.
        block_size: the side of a square.
        layout: ``"NCHW"`` or ``"NHWC"``.
    """
    c, h, w = _axes("space_to_depth", data, layout)
    for axis in (h, w):
        _require_multiple("space_to_depth", data, axis, block_size)
    channels = data.shape[c]
    shape = list(data.shape)
    shape[c] = simplified(channels * (block_size * block_size))
    shape[h], shape[w] = (simplified(data.shape[axis] // block_size) for axis in (h, w))

    def element(*i: Any) -> Any:
        index = list(i)
        pixel, index[c] = i[c] // channels, i[c] % channels
        index[h] = i[h] * block_size + pixel // block_size
        index[w] = i[w] * block_size + pixel % block_size
        return data(*index)

    return te.compute(shape, element, "space_to_depth", "injective")


def _axes(owner: str, data: Tensor, layout: str) -> tuple[int, int, int]:
    require_one_of(f"{owner}: `layout`", layout, ("NCHW", "NHWC"))
    require_rank(owner, "data", data, layout)
    return layout.index("C"), layout.index("H"), layout.index("W")


def _require_multiple(owner: str, data: Tensor, axis: int, factor: int) -> None:
    rest = simplified(data.shape[axis] % factor)
    require_equal(owner, f"dimension {axis} modulo {factor}, and 0", rest, simplified(rest - rest))


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
    require_one_of(f"{owner}: `method`", method, known)
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
