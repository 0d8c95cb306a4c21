"""A function for arrays that do not overlap, beside one for arrays that may.

A function with the attribute ``tir.if_overlapping`` promises `tir.noalias` for calls with arrays
that do not overlap, and names another function of the module, with the same parameters, for calls
with others. Which one runs is decided in each call, by the addresses of the arrays. Where there is
no other function, a call that breaks the promise is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tilewright.ir.arithmetic import logical_and, logical_or
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.transform import PassContext
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.function import PrimFunc
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.memory_uses import stored_pointers, written_pointers

IF_OVERLAPPING: Final = "tir.if_overlapping"


def can_be_asked(function: PrimFunc) -> bool:
    """Whether addresses and sizes tell if arrays of a call overlap: if all are contiguous."""
    buffers = list(function.buffer_map.values())
    pointers = {buffer.data for buffer in buffers}
    return len(pointers) == len(buffers) and all(buffer.is_compact() for buffer in buffers)


def overlap(function: PrimFunc, values: Mapping[Var, Expr]) -> Expr:
    """Whether an array that a function writes overlaps another one.

    `values` are the pointers and sizes of a call, by the variables of the function.
    """
    written = written_pointers(function)
    buffers = list(function.buffer_map.values())
    found: Expr = const(False, "bool")
    for number, one in enumerate(buffers):
        for other in buffers[number + 1 :]:
            if one.data in written or other.data in written:
                found = logical_or(found, _share(one, other, values))
    return found


def broken_promises(
    function: PrimFunc, values: Mapping[Var, Expr]
) -> Iterator[tuple[Var, Var, Expr]]:
    """Pairs of parameters that must not overlap, with the condition that they do.

    Arrays that nobody writes may overlap, and views with strides may interleave: of these, only a
    common first element counts. What is passed to other functions counts as read.

    `values` are the pointers and sizes of a call, by the variables of the function, which promises
    `tir.noalias`.
    """
    written = stored_pointers(function)
    arrays = list(function.buffer_map.items())
    for number, (param, one) in enumerate(arrays):
        for second, other in arrays[number + 1 :]:
            if one.data is other.data or not written & {one.data, other.data}:
                continue
            offsets = one.elem_offset, other.elem_offset
            if not all(is_const_int(offset, 0) for offset in offsets):
                continue
            if one.strides or other.strides:
                starts = (abi.as_address(values[item.data]) for item in (one, other))
                condition = next(starts).equal(next(starts))
                for extent in (*one.shape, *other.shape):
                    condition = logical_and(condition, substitute(extent, values) > 0)
            else:
                condition = _share(one, other, values)
            yield param, second, condition


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


def takes_distinct_buffers(func: PrimFunc) -> bool:
    """Whether a function promises that its buffers do not overlap, and the promise may be used."""
    if not int(func.attrs.get("tir.noalias", 0)):
        return False
    # A function that other calls than those with overlapping arrays run keeps its promise.
    return IF_OVERLAPPING in func.attrs or PassContext.current().option("tir.noalias")


def without_promises(func: PrimFunc) -> PrimFunc:
    """`func` without a promise that may not be used."""
    if "tir.noalias" in func.attrs and not takes_distinct_buffers(func):
        return func.without_attr("tir.noalias")
    return func
