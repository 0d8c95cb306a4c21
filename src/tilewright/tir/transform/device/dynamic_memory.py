"""Memory of a block of threads whose size is known when its kernel is started.

Such allocations are parts of one block of memory, one after the other, which the launch gives to
each block of threads. The host computes its size, and the kernel where each part begins, by the
same rule.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tilewright.error import LoweringError
from tilewright.ir.arithmetic import add, bitwise_and, multiply
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.buffer import storage_scope
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import Allocate, Stmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.building.statements import statements

ALIGNMENT: Final = 32
"""Alignment of the parts, in bytes."""


def is_dynamic(stmt: Stmt) -> bool:
    """Whether a statement allocates memory of a block whose size is not constant."""
    return (
        isinstance(stmt, Allocate)
        and owner_of(storage_scope(stmt.buffer_var)) is MemoryOwner.BLOCK
        and not all(isinstance(extent, IntImm) for extent in stmt.extents)
    )


def size_of(stmt: Allocate) -> Expr:
    """The number of bytes of a part, with room up to the next one, and at least for one byte."""
    size: Expr = const(stmt.dtype.itemsize, INT64)
    for extent in stmt.extents:
        size = multiply(size, cast(INT64, extent))
    return bitwise_and(add(size, const(ALIGNMENT, INT64)), const(-ALIGNMENT, INT64))


def dynamic_size(kernel: str, body: Stmt, known: Collection[Var]) -> Expr | None:
    """The number of bytes of all parts; None if a kernel has none.

    Args:
        kernel: its name, for errors.
        body: what it does.
        known: what the host knows.

    Raises:
        LoweringError: for a size that the host does not know.
    """
    total: Expr | None = None
    for stmt in statements(body):
        if not is_dynamic(stmt):
            continue
        assert isinstance(stmt, Allocate)
        for extent in stmt.extents:
            changing = [var.name for var in variables_of(extent) if var not in known]
            if changing:
                raise LoweringError(
                    f"{kernel}: {stmt.buffer_var.name} is memory of a block of threads with "
                    f"{extent} elements, which changes with {changing[0]}: the size of this memory "
                    "is chosen before the threads start; use the largest size"
                )
        size = size_of(stmt)
        total = size if total is None else add(total, size)
    return total
