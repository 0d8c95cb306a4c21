"""Comparing two functions by running them on the same random data."""

from __future__ import annotations

import numpy as np

from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter.program import interpret


def first_difference(func: PrimFunc, other: PrimFunc, runs: int = 3) -> str | None:
    """Where two functions of the same buffers differ on random data; None if they agree.

    The data are small integers, so that sums are exact in any order.

    Args:
        func: a function of buffers of constant shapes.
        other: another one with the same parameters.
        runs: how often to try.
    """
    random = np.random.default_rng(0)
    buffers = [func.buffer_map[param] for param in func.params]
    for _ in range(runs):
        arguments = [_random_array(buffer, random) for buffer in buffers]
        copies = [argument.copy() for argument in arguments]
        interpret(func, *arguments)
        interpret(other, *copies)
        for buffer, one, two in zip(buffers, arguments, copies, strict=True):
            if not np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
                place = tuple(int(i) for i in np.argwhere(one != two)[0])
                index = ", ".join(map(str, place))
                return f"{buffer.name}[{index}] is {two[place]} instead of {one[place]}"
    return None


def _random_array(buffer: Buffer, random: np.random.Generator) -> np.ndarray:
    shape = tuple(extent.value for extent in buffer.shape)  # type: ignore[attr-defined]
    low = 0 if buffer.dtype.is_uint else -4
    return random.integers(low, 5, shape).astype(buffer.dtype.numpy)
