"""Exchanging extent in spatial dimensions for elements of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentError
from tilewright.te import Tensor
from tilewright.topi.nn.pad import pad
from tilewright.topi.nn.window import constant, require_equal, simplified


def space_to_batch_nd(
    data: Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[Any],
    pad_after: Sequence[Any],
    pad_value: float = 0.0,
) -> Tensor:
    """Every so many elements as images of their own: blocks of elements become the batch.

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
            f"{data.ndim - 1} at the most, got {block_shape!r}"
        )
    if not len(before) == len(after) == len(block):
        raise ArgumentError(
            f"{owner}: {len(before)} and {len(after)} numbers for the ends of {len(block)} "
            "spatial dimensions"
        )
    return known
