"""Exchanging extent in height and width for channels."""

from __future__ import annotations

from typing import Any

from tilewright import te
from tilewright.error import ArgumentValueError
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import require_rank
from tilewright.topi.nn.window import require_equal, simplified


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
    if mode not in ("DCR", "CRD"):
        raise ArgumentValueError(f'depth_to_space: `mode` is "DCR" or "CRD", got {mode!r}')
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
    if layout not in ("NCHW", "NHWC"):
        raise ArgumentValueError(f'{owner}: `layout` is "NCHW" or "NHWC", got {layout!r}')
    require_rank(owner, "data", data, layout)
    return layout.index("C"), layout.index("H"), layout.index("W")


def _require_multiple(owner: str, data: Tensor, axis: int, factor: int) -> None:
    rest = simplified(data.shape[axis] % factor)
    require_equal(owner, f"dimension {axis} modulo {factor}, and 0", rest, simplified(rest - rest))
