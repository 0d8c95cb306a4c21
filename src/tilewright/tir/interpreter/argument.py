"""Arguments of a call: numpy arrays and numbers, checked against what the function declares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilewright.error import ArgumentError, DTypeError, InterpreterError, ShapeError
from tilewright.ir.dtype import DType
from tilewright.tir.interpreter.memory import BufferView, Memory, Pointer, compact_strides
from tilewright.tir.interpreter.number import rounding


class ArrayView(NamedTuple):
    """An array argument that starts inside of its memory: for buffers with an `elem_offset`.

    Attributes:
        memory: a one-dimensional array that holds the elements.
        shape: extents.
        strides: elements between neighbours, or empty for compact.
        elem_offset: position in `memory` of the first element.
    """

    memory: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    elem_offset: int = 0


def scalar_argument(value: Any, dtype: DType, name: str) -> Any:
    """`value` as a number of the dtype of parameter `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Pointer) or not isinstance(value, (bool, int, float)):
        raise ArgumentError(f"argument {name} must be a number of dtype {dtype!s}, got {value!r}")
    if dtype.is_float:
        return rounding(dtype)(float(value))
    if isinstance(value, float) or not dtype.min_int <= value <= dtype.max_int:
        raise DTypeError(f"argument {name} must be a value of dtype {dtype!s}, got {value!r}")
    return bool(value) if dtype.is_bool else int(value)


def pointer_argument(value: Any, name: str) -> Pointer | None:
    """`value` as an address, for a handle parameter without a buffer."""
    if value is None or isinstance(value, Pointer):
        return value
    if isinstance(value, np.ndarray):
        return _memory_of(value)
    raise ArgumentError(f"argument {name} must be an array or None, got {value!r}")


def array_argument(value: Any, dtype: DType, rank: int, name: str) -> BufferView:
    """`value` as a buffer; of a bare address nothing but the memory is known (shape None).

    Raises:
        ArgumentError: if it is not an array.
        DTypeError, ShapeError: if its dtype or number of dimensions is wrong.
    """
    if isinstance(value, Pointer):
        unknown: Any = (None,) * rank
        return BufferView(name, dtype, unknown, unknown, 0, value)
    offset = 0
    if isinstance(value, ArrayView):
        array, offset = value.memory, value.elem_offset
        shape, strides = value.shape, value.strides or compact_strides(value.shape)
    elif isinstance(value, np.ndarray):
        array, lanes = value, (1 if dtype.lanes == 1 else value.shape[-1])
        shape, strides = value.shape, _element_strides(value, name)
        if dtype.lanes > 1:
            if lanes != dtype.lanes or strides[-1] != 1:
                raise ShapeError(f"argument {name} must have {dtype.lanes} contiguous lanes")
            shape, strides = shape[:-1], tuple(s // lanes for s in strides[:-1])
    else:
        raise ArgumentError(f"argument {name} must be a numpy array, got {value!r}")
    if array.dtype != dtype.numpy:
        raise DTypeError(f"argument {name} must have dtype {dtype!s}, got {array.dtype}")
    if len(shape) != rank:
        raise ShapeError(f"argument {name} must have {rank} dimensions, got shape {shape}")
    return BufferView(name, dtype, tuple(shape), tuple(strides), offset, _memory_of(array))


def _element_strides(array: np.ndarray, name: str) -> tuple[int, ...]:
    if any(stride % array.itemsize for stride in array.strides):
        raise ShapeError(f"argument {name} has strides {array.strides}, in parts of an element")
    return tuple(stride // array.itemsize for stride in array.strides)


def _memory_of(array: np.ndarray) -> Pointer:
    """The address of element 0 of an array, in the memory between its first and last byte."""
    if array.size == 0:
        return Pointer(Memory(np.empty(0, dtype=np.uint8)), 0)
    last = tuple((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    before = -sum(step for step in last if step < 0)
    size = before + sum(step for step in last if step > 0) + array.itemsize
    corner = tuple(
        slice(n - 1, n) if step < 0 else slice(0, 1)
        for n, step in zip(array.shape, last, strict=True)
    )
    # The `...` keeps an array without dimensions an array.
    lowest = array[(*corner, ...)].reshape(-1).view(np.uint8)
    data = np.lib.stride_tricks.as_strided(
        lowest, (size,), (1,), writeable=bool(array.flags.writeable)
    )
    return Pointer(Memory(data), before)


# --- checks that the compiled function makes --------------------------------------------------


def known(value: int | None, what: str) -> int:
    """`value`, an extent or stride that a variable stands for."""
    if value is None:
        raise InterpreterError(f"{what} cannot be known from a bare address")
    return value


def check_extent(what: str, found: int | None, expected: int) -> None:
    """Check one extent (or offset) of an argument."""
    if found is not None and found != expected:
        raise ShapeError(f"{what} must be {expected}, got {found}")


def check_stride(view: BufferView, dimension: int, expected: int) -> None:
    """Check one stride of an argument; of a dimension with one element any will do."""
    found, extent = view.strides[dimension], view.shape[dimension]
    if found is not None and found != expected and extent > 1 and 0 not in view.shape:
        raise ShapeError(
            f"argument {view.name}: stride {dimension} must be {expected} elements, got {found}"
        )


def check_compact(view: BufferView) -> None:
    """Check that an argument is row-major and without gaps."""
    if view.shape and view.shape[0] is None:
        return
    for dimension, expected in enumerate(compact_strides(view.shape)):
        check_stride(view, dimension, expected)
