"""Memory, pointers, and accesses through buffers, all checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.error import InterpreterError
from tilewright.ir.dtype import DType


class Memory:
    """A block of bytes.

    Attributes:
        data: the bytes, as a one-dimensional uint8 array.
        written: one byte per byte of `data`, not 0 where something was stored; None if the content
            was there from the start or reading unwritten memory is allowed.
    """

    __slots__ = ("data", "written")

    def __init__(self, data: np.ndarray, written: bytearray | None = None) -> None:
        self.data = data
        self.written = written


class Pointer(NamedTuple):
    """An address: a position in bytes in a block of memory."""

    memory: Memory
    position: int

    def view(self, dtype: DType) -> tuple[np.ndarray, int]:
        """All of the memory as an array of scalars, and the index of this address in it."""
        size = dtype.numpy.itemsize
        start = self.position % size
        length = max(len(self.memory.data) - start, 0) // size
        array = self.memory.data[start : start + length * size].view(dtype.numpy)
        return array, self.position // size


def allocate(dtype: DType, count: int, check_reads: bool) -> Pointer:
    """New memory for `count` elements, none if that is negative.

    Its bytes are 0xFF, which is NaN and -1.
    """
    count = max(count, 0)
    size = dtype.numpy.itemsize * dtype.lanes * count
    data = np.full(size, 0xFF, dtype=np.uint8)
    return Pointer(Memory(data, bytearray(size) if check_reads else None), 0)


class Accessors(NamedTuple):
    """How a program reads and writes a buffer: `get(*indices)` and `set(*indices, value)`."""

    get: Callable[..., Any]
    set: Callable[..., None]
    buffer: BufferView


class BufferView(NamedTuple):
    """A buffer of a running program: strides and offset in elements of `dtype`, lanes and all."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    elem_offset: int
    pointer: Pointer

    def address(self, *indices: int) -> Pointer:
        """The address of an element, which need not exist."""
        position = self.elem_offset
        for index, stride in zip(indices, self.strides, strict=True):
            position += index * stride
        size = self.dtype.numpy.itemsize * self.dtype.lanes
        return Pointer(self.pointer.memory, self.pointer.position + position * size)

    def as_array(self) -> np.ndarray:
        """The elements as a numpy array on the same memory (a last dimension for the lanes)."""
        array, base = self.pointer.view(self.dtype)
        lanes, size = self.dtype.lanes, array.itemsize
        shape, strides = self.shape, tuple(s * lanes * size for s in self.strides)
        if lanes > 1:
            shape, strides = (*shape, lanes), (*strides, size)
        start = base + self.elem_offset * lanes
        return np.lib.stride_tricks.as_strided(array[start:], shape, strides)

    def fault(self, indices: tuple[int, ...], verb: str) -> InterpreterError:
        """What is wrong with an access."""
        place = f"{self.name}[{', '.join(map(str, indices))}]"
        inside = all(0 <= i < n for i, n in zip(indices, self.shape, strict=True))
        if not inside:
            return InterpreterError(f"{place} is {verb} out of bounds: the shape is {self.shape}")
        array, _ = self.pointer.view(self.dtype)
        first = self.address(*indices).position // array.itemsize
        if not 0 <= first <= len(array) - self.dtype.lanes:
            return InterpreterError(
                f"{place} is {verb} out of bounds: it is element {first} of memory with "
                f"{len(array)} elements (strides {self.strides}, offset {self.elem_offset})"
            )
        return InterpreterError(f"{place} is {verb} before anything was written there")


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of the row-major layout."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


_SOURCE: Final = """
def make(item, store, base, limit, shape, strides, written, size, width, phase, view):
    {unpack}
    def get({indices}):
        if {inside}:
            k = base{position}
            if 0 <= k < limit{is_written}:
                return item(k)
        raise view.fault(({indices}), "read")
    def set_({indices}value):
        if {inside}:
            k = base{position}
            if 0 <= k < limit:
                store(k, value)
                {mark}
                return
        raise view.fault(({indices}), "written")
    return get, set_
"""
_makers: dict[tuple[int, bool], Callable[..., Any]] = {}


def _maker(rank: int, check_reads: bool) -> Callable[..., Any]:
    """The function that makes the accessors of buffers of some rank."""
    key = rank, check_reads
    if key not in _makers:
        numbers = range(rank)
        source = _SOURCE.format(
            unpack="".join(f"s{i} = shape[{i}]; t{i} = strides[{i}]; " for i in numbers) or "pass",
            indices="".join(f"i{i}, " for i in numbers),
            inside=" and ".join(f"0 <= i{i} < s{i}" for i in numbers) or "True",
            position="".join(f" + i{i} * t{i}" for i in numbers),
            is_written=" and written[k * size + phase]" if check_reads else "",
            mark="written[k * size + phase : k * size + phase + width] = b'\\1' * width"
            if check_reads
            else "pass",
        )
        scope: dict[str, Any] = {}
        exec(compile(source, f"<access of rank {rank}>", "exec"), scope)
        _makers[key] = scope["make"]
    return _makers[key]


def access(
    name: str,
    dtype: DType,
    pointer: Pointer,
    shape: tuple[int, ...],
    strides: tuple[int, ...] = (),
    elem_offset: int = 0,
) -> Accessors:
    """Checked access to a buffer."""
    strides = strides or compact_strides(shape)
    view = BufferView(name, dtype, shape, strides, elem_offset, pointer)
    array, base = pointer.view(dtype)
    item, store = _element_access(array, dtype)
    lanes, written = dtype.lanes, pointer.memory.written
    get, set_ = _maker(len(shape), written is not None)(
        item, store, base + elem_offset * lanes, len(array) - lanes + 1, shape,
        tuple(stride * lanes for stride in strides), written, array.itemsize,
        array.itemsize * lanes, pointer.position % array.itemsize, view,
    )  # fmt: skip
    return Accessors(get, set_, view)


def _element_access(
    array: np.ndarray, dtype: DType
) -> tuple[Callable[[int], Any], Callable[[int, Any], None]]:
    """Read and write an element of `array`, whose index counts scalars."""
    lanes, scalar = dtype.lanes, array.item
    if dtype.code in ("bfloat", "float8"):
        scalar = lambda k: float(array[k])  # noqa: E731
    if lanes == 1:
        return scalar, array.__setitem__

    def get(k: int) -> list[Any]:
        return [scalar(k + lane) for lane in range(lanes)]

    def store(k: int, value: list[Any]) -> None:
        array[k : k + lanes] = value

    return get, store
