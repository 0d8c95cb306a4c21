"""Memory of scope ``local``: elements at constant indices, which backends keep in registers."""

from __future__ import annotations

from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL, HANDLE, INT32, DType
from tilewright.ir.expr import Expr, Ramp, Var
from tilewright.ir.types import PointerType, PrimType
from tilewright.tir.buffer import ONE, Buffer
from tilewright.tir.stmt import Allocate, Stmt


def local_buffer(name: str, dtype: DType, size: int) -> Buffer:
    """New memory for `size` elements."""
    pointer = Var(name, HANDLE, PointerType(PrimType(dtype), "local"))
    return Buffer(pointer, dtype, (const(size, INT32),), name)


def allocated(buffer: Buffer, body: Stmt) -> Stmt:
    """`body` with the memory of `buffer`."""
    return Allocate(buffer.data, buffer.dtype, buffer.shape, const(True, BOOL), body)


def lane_index(start: int, lanes: int) -> Expr:
    """The index of `lanes` neighbouring elements from `start` on."""
    first = const(start, INT32)
    return first if lanes == 1 else Ramp(first, ONE, lanes)
