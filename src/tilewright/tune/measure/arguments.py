"""What candidates are called with: random data as users have.

* Floats are uniform in [-0.5, 0.5): sums and products of them stay where floats are dense, and
  nothing becomes so small that the machine would compute slowly with it.
* Integers of 8 and 16 bits are in [-8, 8), or [0, 8) without a sign. Wider ones, which may be
  indices, are 0 or 1; so are bools.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentValueError
from tilewright.ir.dtype import DType
from tilewright.runtime import ndarray
from tilewright.runtime.device import Device
from tilewright.runtime.module import Module
from tilewright.runtime.ndarray import NDArray

PATTERN: Final = 1 << 22
"""Arrays with more elements repeat their first ones: making them all takes long."""


def random_arguments(
    args_info: Sequence[Any], seed: int = 0, device: Device | None = None
) -> list[NDArray]:
    """An array for each argument, the same for the same seed.

    Args:
        args_info: as `ArgInfo.as_json` gives it.
        seed: of the random numbers.
        device: where they are to be.
    """
    random = np.random.default_rng(seed)
    return [_random_array(info, random, device) for info in args_info]


def _random_array(info: Any, random: np.random.Generator, device: Device | None) -> NDArray:
    kind, dtype, shape = info
    if kind != "TENSOR":
        raise ArgumentValueError(f"there are no random values for an argument of kind {kind!r}")
    array = ndarray.empty(tuple(shape), dtype)
    elements = array._host_view("random values").reshape(-1)
    count = len(elements)
    values = _random_values(DType(dtype), min(count, PATTERN), random).astype(elements.dtype)
    for start in range(0, count, PATTERN):
        part = elements[start : start + PATTERN]
        part[:] = values[: len(part)]
    return array if device is None or device == array.device else array.copyto(device)


def _random_values(dtype: DType, count: int, random: np.random.Generator) -> np.ndarray:
    if dtype.is_float:
        return random.random(count, np.float32) - np.float32(0.5)
    if dtype.is_bool or dtype.bits > 16:
        return random.integers(0, 2, count)
    return random.integers(-8 if dtype.code == "int" else 0, 8, count)


def packer_of(position: int) -> str:
    """The name of the function of a module that packs the argument at a position."""
    return f"pack_argument_{position}"


def with_packed(
    module: Module, packed: Mapping[int, Any], arguments: Sequence[NDArray]
) -> list[NDArray]:
    """Arguments, with constant ones packed as a module wants them.

    Args:
        module: has functions that pack, see `packer_of`.
        packed: what they make, as `ArgInfo.as_json` gives it, by position.
        arguments: of the program that is tuned.
    """
    found = list(arguments)
    for position, (_, dtype, shape) in packed.items():
        original = found[position]
        # Elements that are not packed are never read.
        zeros = np.zeros(shape, DType(dtype).numpy)
        found[position] = ndarray.array(zeros, original.device)
        module[packer_of(position)](original, found[position])
    return found


def size_of(args_info: Sequence[Any]) -> int:
    """Number of bytes of the arguments."""
    return sum(math.prod(shape) * DType(dtype).itemsize for _, dtype, shape in args_info)
