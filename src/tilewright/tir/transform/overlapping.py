"""A function for arrays that do not overlap, beside one for arrays that may.

A function with the attribute ``tir.if_overlapping`` promises `tir.noalias` for calls with arrays
that do not overlap, and names another function of the module, with the same parameters, for calls
with others. Which one runs is decided in each call, by the addresses of the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tilewright.ir.arithmetic import logical_and, logical_or
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.substitute import substitute
from tilewright.tir.transform import call_boundary as abi
from tilewright.tir.transform.memory_uses import written_pointers

IF_OVERLAPPING: Final = "tir.if_overlapping"


def can_be_asked(function: PrimFunc) -> bool:
    """Whether addresses and sizes tell if arrays of a call overlap: if all are contiguous."""
    buffers = list(function.buffer_map.values())
    pointers = {buffer.data for buffer in buffers}
    return len(pointers) == len(buffers) and all(
        not buffer.strides and is_const_int(buffer.elem_offset, 0) for buffer in buffers
    )


def overlap(function: PrimFunc, values: Mapping[Var, Expr]) -> Expr:
    """Whether an array that a function writes overlaps another one.

    Args:
        function: the function.
        values: the pointers and sizes of a call, by the variables of the function.
    """
    written = written_pointers(function)
    buffers = list(function.buffer_map.values())
    found: Expr = const(False, "bool")
    for number, one in enumerate(buffers):
        for other in buffers[number + 1 :]:
            if one.data in written or other.data in written:
                found = logical_or(found, _share(one, other, values))
    return found


def _share(one: Buffer, other: Buffer, values: Mapping[Var, Expr]) -> Expr:
    """Whether two arrays have a byte in common."""
    (low, high), (start, end) = _bytes(one, values), _bytes(other, values)
    return logical_and(low < end, start < high)


def _bytes(buffer: Buffer, values: Mapping[Var, Expr]) -> tuple[Expr, Expr]:
    """The addresses of the first byte of an array, and of the first one after it."""
    start = abi.as_address(values[buffer.data])
    size: Expr = const(buffer.dtype.itemsize, INT64)
    for extent in buffer.shape:
        size = size * cast(INT64, substitute(extent, values))
    return start, start + size
