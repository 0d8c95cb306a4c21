"""Memory for the buffers that blocks allocate."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.arithmetic import as_expr, const
from tilewright.ir.dtype import BOOL, INT32, INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.tir.buffer import ONE, Buffer
from tilewright.tir.stmt import Allocate, Stmt


def compact_strides(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The strides of a compact row-major layout, in elements."""
    strides: list[Expr] = []
    stride: Expr = ONE
    for extent in reversed(shape):
        strides.append(stride)
        stride = _product(stride, extent)
    return tuple(reversed(strides))


def element_count(shape: Sequence[Expr]) -> Expr:
    """The number of elements of a compact buffer of that shape."""
    count: Expr = ONE
    for extent in shape:
        count = _product(count, extent)
    return count


def _product(a: Expr, b: Expr) -> Expr:
    """`a * b`, as int64 where constants do not fit int32."""
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        value = a.value * b.value
        dtype = INT64 if INT64 in (a.dtype, b.dtype) or value > INT32.max_int else INT32
        return IntImm(dtype, value)
    return as_expr(a * b)


def span(buffer: Buffer) -> Expr:
    """How many elements there are from `data` to the end of the last element of `buffer`.

    For a compact buffer that is the number of its elements (and `elem_offset`); a dimension of
    extent 0 counts as if the others were there.
    """
    if not buffer.strides:
        return as_expr(element_count(buffer.shape) + buffer.elem_offset)
    last: Expr = buffer.elem_offset
    for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
        last = as_expr(last + _product(as_expr(extent - 1), stride))
    return as_expr(last + 1)


def allocate(body: Stmt, buffers: Sequence[Buffer]) -> Stmt:
    """`body` with memory for `buffers`."""
    for buffer in reversed(buffers):
        extents = buffer.shape or (ONE,)
        if buffer.strides:
            extents = (span(buffer),)
        body = Allocate(buffer.data, buffer.dtype, extents, const(True, BOOL), body)
    return body
